package tests

var infoCases []testCase
