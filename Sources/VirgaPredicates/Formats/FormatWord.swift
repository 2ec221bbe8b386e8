/// The reserved words of the format language, in any case. A field of such a name is written with `#` before it, or
/// passed for `%K`.
enum FormatWord: String {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
  case any = "ANY"
  case some = "SOME"
  case all = "ALL"
  case none = "NONE"
  case truePredicate = "TRUEPREDICATE"
  case falsePredicate = "FALSEPREDICATE"
  case itself = "SELF"
  case null = "NULL"
  case `nil` = "NIL"
  case `true` = "TRUE"
  case yes = "YES"
  case `false` = "FALSE"
  case no = "NO"
  case between = "BETWEEN"
  case isIn = "IN"
  case contains = "CONTAINS"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case like = "LIKE"
  case matches = "MATCHES"
  case tokenMatches = "TOKENMATCHES"
  case cast = "CAST"
  case first = "FIRST"
  case last = "LAST"
  case size = "SIZE"
  case anyKey = "ANYKEY"
  case subquery = "SUBQUERY"
  case function = "FUNCTION"
  case ternary = "TERNARY"

  init?(_ name: String) {
    guard let word = Self(rawValue: name.uppercased()) else { return nil }
    self = word
  }

  var comparator: Comparison.Comparator? { Comparison.Comparator(rawValue: rawValue) }
}
