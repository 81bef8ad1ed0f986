/** A process cannot start, for a reason that its operator can remove. The message says what failed and what to do. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
