package tests

var persistentCollCases []testCase
