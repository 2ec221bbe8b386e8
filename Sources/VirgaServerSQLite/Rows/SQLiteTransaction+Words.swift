import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func word(_ number: Int64) throws -> String {
    if let text = words.text(number) { return text }
    let statement = try statement("SELECT text FROM word WHERE id = ?")
    try statement.bind(1, number)
    guard let text = try statement.first({ $0.text(0) }) else {
      throw StoreError.damaged("the word \(number) is missing from the database")
    }
    words.note(number, text)
    return text
  }

  /// The number of a text, which it is given now if it has none.
  func number(of text: String) throws -> Int64 {
    if let number = words.number(text) { return number }
    let select = try statement("SELECT id FROM word WHERE text = ?")
    try select.bind(1, text)
    var number = try select.first { $0.int64(0) }
    if number == nil {
      let insert = try statement("INSERT INTO word (text) VALUES (?)")
      try insert.bind(1, text)
      try insert.run()
      number = connection.lastInsertedID
    }
    guard let number else { throw StoreError.other("no number for a word") }
    words.note(number, text)
    return number
  }
}
