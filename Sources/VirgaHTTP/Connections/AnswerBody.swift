/// How an answer's body goes out.
enum AnswerBody {
  case none
  case bytes([UInt8])
  case file(path: String, offset: Int64, length: Int64)
}
