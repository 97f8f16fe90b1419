// Package command returns the commands that findings, explanations and conditions recommend:
// kubectl's, and those of its plugin kubectl-fieldowners.
//
// # Contract
//
//  1. Every word that comes from an object is quoted for a shell.
//  2. What is not known is written in capitals: Placeholder for the object, MANAGER and FILE
//     for the rest.
//  3. A command is one line, and nothing runs it.
//
// It is below lint and explain, which both write commands.
//
// Valid:
//
//	fmt.Println(strings.Replace(command.Migrate("kubectl", "shop-web"), command.Placeholder, subject.Target(), 1))
//
// Invalid: a word added without Quote. The name of a field manager may be anything, "; rm"
// too.
package command
