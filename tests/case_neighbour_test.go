package tests

var neighbourCases []testCase
