/** A message as a subscriber receives it. Headers are ASCII; their names are lower case. */
export interface Message {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Handles one message of a subscription. An error that it throws is logged; the bus never redelivers the message. */
export type Handler = (message: Message) => Promise<void> | void

/** How many handlers of a subscription run at once, and how many messages may wait for them. */
export const SUBSCRIPTION_DEFAULTS = { concurrency: 64, pending_max: 10_000 } as const

/** An open subscription. */
export interface Subscription {
  /** Accepts no new message and resolves when all received ones are handled. */
  close(): Promise<void>
}

/**
 * Carries messages between processes: at most once, not durable, and without an order between subjects. Data that must
 * not be lost stays in the store until its receiver confirms that it has stored it too. Subjects are tokens joined by
 * dots; a subscription may use `*` (one token) and `>` (all remaining tokens).
 */
export interface Bus {
  /** Sends a message, or throws `Unavailable` at once when the bus is disconnected. Success does not prove receipt. */
  publish(subject: string, data: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<void>
  /**
   * Subscribes to a subject. Each message goes to one of the subscribers with the same `queue_group`. `concurrency`
   * (default 64) limits the running handlers. `pending_max` (default 10,000) limits the messages that wait; further ones
   * are dropped and counted.
   */
  subscribe(
    subject: string,
    handler: Handler,
    options?: { queue_group?: string; concurrency?: number; pending_max?: number },
  ): Promise<Subscription>
  /** Whether the bus can carry messages now. */
  isConnected(): boolean
  close(): Promise<void>
}
