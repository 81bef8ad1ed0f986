import type { Bus } from './bus.ts'

/**
 * Puts a prefix before all subjects of a bus, and removes it from received ones. Several systems can share a NATS server
 * with it: without a prefix, one system would receive events and receipts of another one, and lose its own.
 */
export function withSubjectPrefix(bus: Bus, prefix: string): Bus {
  return {
    publish: (subject, data, headers) => bus.publish(`${prefix}.${subject}`, data, headers),
    subscribe: (pattern, handler, options) =>
      bus.subscribe(
        `${prefix}.${pattern}`,
        (message) => handler({ ...message, subject: message.subject.slice(prefix.length + 1) }),
        options,
      ),
    isConnected: () => bus.isConnected(),
    close: () => bus.close(),
  }
}
