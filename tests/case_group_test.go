package tests

var groupCases []testCase
