/** The wall time of this machine in milliseconds since 1970. */
export function nowMs(): number {
  return Date.now()
}

/** Resolves after a time. */
export function delay(duration_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration_ms))
}

/** A new idempotency key of 128 random bits. `crypto.randomUUID` would need TLS. */
export function newOperationId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
