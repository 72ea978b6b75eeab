package tests

var intercommCases []testCase
