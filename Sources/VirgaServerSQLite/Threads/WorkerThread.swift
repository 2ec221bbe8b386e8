import CLinux
import Glibc

/// A thread of our own for calls that block.
final class WorkerThread: Sendable {
  private let id: pthread_t

  /// Starts a thread that runs `body` and then lets go of what it captured.
  /// - Parameter name: What the system's tools call the thread; 15 bytes at most.
  init(_ name: String, _ body: sending @escaping () -> Void) {
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    var id = pthread_t()
    let code = pthread_create(
      &id, nil,
      { context in
        guard let context else { return nil }
        // In a function of its own, so that everything captured is gone when the thread ends.
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context)
    precondition(code == 0, "the system gives no thread")
    pthread_setname_np(id, name)
    self.id = id
  }

  /// Waits until the thread has ended. From the thread itself it only lets it go.
  func join() {
    if pthread_equal(pthread_self(), id) != 0 {
      pthread_detach(id)
    } else {
      pthread_join(id, nil)
    }
  }

  private final class Body {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) { self.body = body }

    func run() {
      body?()
      body = nil
    }
  }
}
