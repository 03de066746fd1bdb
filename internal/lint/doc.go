// Package lint holds the rules of this house that a linter does not know: who
// may import whom, and what nobody may import. They are tests, so that
// breaking one tells where the rule is written down.
//
// Imports go strictly downhill: a package may import packages of lower levels
// in the table of [TestImportsGoDownhill], and those only if its row names them.
package lint
