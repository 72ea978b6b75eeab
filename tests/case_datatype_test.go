package tests

var datatypeCases []testCase
