package tests

var attributeCases []testCase
