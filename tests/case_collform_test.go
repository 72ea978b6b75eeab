package tests

var collectiveFormCases []testCase
