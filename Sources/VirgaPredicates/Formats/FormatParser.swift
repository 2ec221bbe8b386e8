import Foundation
import VirgaModel

/// Reads a predicate's format: comparisons joined by NOT, AND and OR, which bind in this order.
struct FormatParser {
  /// Parentheses, lists, calls and NOTs within one another; deeper ones are refused, so that no text can exhaust the
  /// stack.
  static let nestingMax = 100

  private let arguments: [Any]
  private var lexer: FormatLexer
  private var token = FormatLexer.Token.end
  private var argumentsTaken = 0
  private var nesting = 0

  /// - Parameter arguments: What stands for `%@`, `%K` and their like, in order. Those left over are ignored.
  static func parse(_ format: String, _ arguments: [Any]) throws(PredicateFormatError) -> Condition {
    var parser = Self(format, arguments)
    try parser.advance()
    let condition = try parser.disjunction()
    if parser.token != .end { throw parser.unexpected("AND, OR or the end") }
    return condition
  }

  private init(_ format: String, _ arguments: [Any]) {
    self.arguments = arguments
    lexer = FormatLexer(format)
  }

  // MARK: Conditions

  private mutating func disjunction() throws(PredicateFormatError) -> Condition {
    var parts = [try conjunction()]
    while try take(.or, "||") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(PredicateFormatError) -> Condition {
    var parts = [try negation()]
    while try take(.and, "&&") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func negation() throws(PredicateFormatError) -> Condition {
    let start = lexer.start
    guard try take(.not, "!") else { return try primary() }
    try enter(at: start)
    let condition = try negation()
    nesting -= 1
    return .not(condition)
  }

  private mutating func primary() throws(PredicateFormatError) -> Condition {
    if try take(.truePredicate, nil) { return .always(true) }
    if try take(.falsePredicate, nil) { return .always(false) }
    guard token == .symbol("(") else { return try comparison() }
    // A parenthesis may hold a condition or one side of a comparison. The first is tried first; whichever reading
    // came further says what is wrong if neither will do.
    let before = self
    do throws(PredicateFormatError) {
      try enter()
      try advance()
      let condition = try disjunction()
      try expect(")")
      nesting -= 1
      if comparator == nil { return condition }
      self = before
    } catch {
      self = before
      do throws(PredicateFormatError) {
        return try comparison()
      } catch let second {
        throw second.position > error.position ? second : error
      }
    }
    return try comparison()
  }

  private mutating func enter(at start: Int? = nil) throws(PredicateFormatError) {
    nesting += 1
    if nesting > Self.nestingMax {
      throw lexer.error("conditions are nested deeper than \(Self.nestingMax) levels", at: start ?? lexer.start)
    }
  }

  // MARK: Comparisons

  private mutating func comparison() throws(PredicateFormatError) -> Condition {
    var modifier = Comparison.Modifier.direct
    var isNone = false
    if try take(.any, nil) {
      modifier = .any
    } else if try take(.some, nil) {
      modifier = .any
    } else if try take(.all, nil) {
      modifier = .all
    } else if try take(.none, nil) {
      modifier = .any
      isNone = true
    }
    let left = try expression()
    guard let comparator else { throw unexpected("a comparison such as ==, <, IN or BEGINSWITH") }
    try advance()
    let options = try self.options()
    let rightStart = lexer.start
    let right = try expression()
    let comparison = Comparison(
      modifier: modifier, left: left, comparator: comparator, options: options, right: right)
    try check(comparison, at: rightStart)
    return isNone ? .not(.comparison(comparison)) : .comparison(comparison)
  }

  /// The comparator that comes next.
  private var comparator: Comparison.Comparator? {
    switch token {
    case .symbol(let symbol):
      switch symbol {
      case "=", "==": .equal
      case "!=", "<>": .notEqual
      case "<": .less
      case "<=", "=<": .lessOrEqual
      case ">": .greater
      case ">=", "=>": .greaterOrEqual
      default: nil
      }
    case .name(let name): FormatWord(name)?.comparator
    default: nil
    }
  }

  private mutating func options() throws(PredicateFormatError) -> Comparison.Options {
    guard token == .symbol("[") else { return [] }
    try advance()
    guard case .name(let letters) = token else { throw unexpected("letters such as cd") }
    var options: Comparison.Options = []
    for (index, letter) in letters.enumerated() {
      guard let known = Comparison.Options.letters.first(where: { $0.0 == Character(letter.lowercased()) }) else {
        throw lexer.error("[\(letter)] is not an option; use c, d, n or l", at: lexer.start + index)
      }
      options.insert(known.1)
    }
    try advance()
    try expect("]")
    return options
  }

  /// Refuses what could never be true for a reason that the format itself shows.
  private func check(_ comparison: Comparison, at position: Int) throws(PredicateFormatError) {
    guard case .constant(let constant) = comparison.right else { return }
    switch comparison.comparator {
    case .between:
      guard case .list(let bounds) = constant, bounds.count == 2 else {
        throw lexer.error("BETWEEN needs a list of two bounds", at: position)
      }
    case .matches:
      guard case .value(.string(let pattern)) = constant else { return }
      if (try? NSRegularExpression(pattern: pattern)) == nil {
        throw lexer.error("MATCHES needs a regular expression", at: position)
      }
    default: break
    }
  }

  // MARK: Expressions

  private mutating func expression() throws(PredicateFormatError) -> Expression {
    let expression = try simpleExpression()
    guard case .symbol(let symbol) = token else { return expression }
    switch symbol {
    case "+", "-", "*", "/", "**": throw unsupported("arithmetic (\(symbol))")
    case "[": throw unsupported("taking one element of a list")
    case ".": throw unsupported("a path that goes on from a value")
    case ":=": throw unsupported("assignment")
    default: return expression
    }
  }

  private mutating func simpleExpression() throws(PredicateFormatError) -> Expression {
    switch token {
    case .text(let text):
      try advance()
      return .constant(.value(.string(text)))
    case .number(let digits):
      let constant = try number(digits, at: lexer.start)
      try advance()
      return .constant(constant)
    case .placeholder(let letter): return try argument(for: letter)
    case .escapedName(let name):
      try advance()
      return .key([name])
    case .function(let name): return try function(name)
    case .symbol(let symbol): return try expression(beginningWith: symbol)
    case .name(let name):
      if let word = FormatWord(name) { return try expression(beginningWith: word) }
      try advance()
      var path = name.split(separator: ".").map(String.init)
      if path.count > 1, path[0].uppercased() == "SELF" { path.removeFirst() }
      return .key(path)
    case .end: throw unexpected("a field or a value")
    }
  }

  private mutating func expression(beginningWith word: FormatWord) throws(PredicateFormatError) -> Expression {
    let result: Expression
    switch word {
    case .itself: result = .itself
    case .null, .nil: result = .constant(.null)
    case .true, .yes: result = .constant(.value(.int64(1)))
    case .false, .no: result = .constant(.value(.int64(0)))
    case .cast: return try cast()
    case .anyKey, .subquery, .function, .ternary: throw unsupported(word.rawValue)
    default: throw unexpected("a field or a value")
    }
    try advance()
    return result
  }

  private mutating func expression(beginningWith symbol: String) throws(PredicateFormatError) -> Expression {
    switch symbol {
    case "-":
      let start = lexer.start
      try advance()
      guard case .number(let digits) = token else { throw unsupported("a minus before anything but a number") }
      let constant = try number("-" + digits, at: start)
      try advance()
      return .constant(constant)
    case "(":
      try enter()
      try advance()
      let inner = try expression()
      try expect(")")
      nesting -= 1
      return inner
    case "{": return .constant(.list(try list()))
    case "$": throw unsupported("a variable")
    case "@": throw unsupported("a collection operator")
    default: throw unexpected("a field or a value")
    }
  }

  private mutating func list() throws(PredicateFormatError) -> [Constant] {
    try enter()
    try advance()
    var members: [Constant] = []
    while token != .symbol("}") {
      if !members.isEmpty { try expect(",") }
      let start = lexer.start
      guard case .constant(let member) = try expression() else {
        throw lexer.error("a list can only hold values", at: start)
      }
      members.append(member)
    }
    try advance()
    nesting -= 1
    return members
  }

  private mutating func function(_ name: String) throws(PredicateFormatError) -> Expression {
    guard name == "distanceToLocation:fromLocation:" else { throw unsupported("the function \(name)") }
    try enter()
    try advance()
    try expect("(")
    let place = try expression()
    try expect(",")
    let origin = try expression()
    try expect(")")
    nesting -= 1
    return .distance(place, origin)
  }

  /// `CAST(value, "type")`: how values without a literal are printed.
  private mutating func cast() throws(PredicateFormatError) -> Expression {
    let start = lexer.start
    try enter()
    try advance()
    try expect("(")
    guard case .constant(let value) = try expression() else {
      throw lexer.error("only a value can be cast", at: start)
    }
    try expect(",")
    guard case .text(let type) = token else { throw unexpected("the name of a type in quotes") }
    guard let result = Expression(casting: value, to: type) else {
      throw lexer.error("\(value.text) cannot be cast to \(type)", at: start)
    }
    try advance()
    try expect(")")
    nesting -= 1
    return result
  }

  private func number(_ digits: String, at position: Int) throws(PredicateFormatError) -> Constant {
    let isNegative = digits.hasPrefix("-")
    let unsigned = isNegative ? digits.dropFirst() : digits[...]
    let lowered = unsigned.lowercased()
    if lowered.hasPrefix("0x"), let number = Int64((isNegative ? "-" : "") + lowered.dropFirst(2), radix: 16) {
      return .value(.int64(number))
    }
    if let number = Int64(digits) { return .value(.int64(number)) }
    if !unsigned.allSatisfy(\.isNumber), let number = Double(digits) { return .value(.double(number)) }
    throw lexer.error("\(digits) does not fit into 64 bits", at: position)
  }

  private mutating func argument(for letter: Character) throws(PredicateFormatError) -> Expression {
    let position = lexer.start
    guard argumentsTaken < arguments.count else {
      throw lexer.error("%\(letter) has no argument: only \(arguments.count) were given", at: position)
    }
    let argument = arguments[argumentsTaken]
    argumentsTaken += 1
    try advance()
    let constant = Constant(argument)
    switch (letter, constant) {
    case ("K", .value(.string(let path))):
      if path.isEmpty { throw lexer.error("%K needs the name of a field, not an empty text", at: position) }
      return path.uppercased() == "SELF" ? .itself : .key(path.split(separator: ".").map(String.init))
    case ("K", _): throw lexer.error("%K needs the name of a field, not \(constant.text)", at: position)
    case ("@", _), (_, .value(.int64)), (_, .value(.double)): return .constant(constant)
    default: throw lexer.error("%\(letter) needs a number, not \(constant.text)", at: position)
    }
  }

  // MARK: Tokens

  private mutating func advance() throws(PredicateFormatError) { token = try lexer.next() }

  /// Goes past the word or its other spelling; false if something else comes next.
  private mutating func take(_ word: FormatWord, _ symbol: String?) throws(PredicateFormatError) -> Bool {
    switch token {
    case .name(let name) where FormatWord(name) == word: break
    case .symbol(let found) where found == symbol: break
    default: return false
    }
    try advance()
    return true
  }

  private mutating func expect(_ symbol: String) throws(PredicateFormatError) {
    guard token == .symbol(symbol) else { throw unexpected(symbol) }
    try advance()
  }

  private func unexpected(_ expected: String) -> PredicateFormatError {
    let found = String(lexer.characters[lexer.start..<lexer.offset])
    return lexer.error("expected \(expected), found \(found.isEmpty ? "the end" : found)", at: lexer.start)
  }

  private func unsupported(_ what: String) -> PredicateFormatError {
    lexer.error("\(what) is not supported", at: lexer.start)
  }
}

extension Expression {
  /// Reads what `text` writes for values without a literal.
  fileprivate init?(casting value: Constant, to type: String) {
    switch (type, value) {
    case ("NSKeyPath", .value(.string(let path))): self = .key(path.split(separator: ".").map(String.init))
    case ("NSDate", .value(.int64(let seconds))): self = .constant(.date(Double(seconds)))
    case ("NSDate", .value(.double(let seconds))): self = .constant(.date(seconds))
    case ("NSNumber", .value(.string(let text))):
      guard let number = Double(text) else { return nil }
      self = .constant(.value(.double(number)))
    case ("NSData", .value(.string(let text))):
      guard let data = Data(base64Encoded: text) else { return nil }
      self = .constant(.value(.bytes([UInt8](data))))
    case ("CLLocation", .list(let members)):
      let degrees = members.compactMap(\.number)
      guard members.count == 2, degrees.count == 2 else { return nil }
      self = .constant(.value(.location(Location(latitude: degrees[0], longitude: degrees[1]))))
    case ("CKReference", .list(let members)):
      let names = members.compactMap { if case .value(.string(let name)) = $0 { name } else { nil } }
      guard names.count == members.count, names.count == 1 || names.count == 3 else { return nil }
      var reference = Reference(recordName: RecordName(names[0]))
      if names.count == 3 { reference.zone = ZoneID(ZoneName(names[1]), owner: UserName(names[2])) }
      self = .constant(.value(.reference(reference)))
    default: return nil
    }
  }
}

extension Constant {
  fileprivate static func date(_ secondsSinceReferenceDate: Double) -> Constant {
    .value(.timestamp(Timestamp(Date(timeIntervalSinceReferenceDate: secondsSinceReferenceDate))))
  }

  /// The number, of either kind.
  var number: Double? {
    switch self {
    case .value(.int64(let number)): Double(number)
    case .value(.double(let number)): number
    default: nil
    }
  }
}
