import type { DescService } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import type { ConfigSchema } from '#lib/base/config/config.ts'
import type { Keys, Purpose } from '#lib/base/crypto/keys.ts'
import type { Bus } from '#lib/bus/bus.ts'
import type { StreamHandler } from '#lib/http/internal-link.ts'
import type { Tls } from '#lib/http/tls.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { RpcService } from '#lib/rpc/service.ts'
import type { Store } from '#lib/store/store.ts'

/** The roles that a process can run, in the order in which they start: a role comes after the roles it needs. */
export const ROLES = [
  'sandbox',
  'merchants',
  'balances',
  'notifier',
  'payments',
  'attachments',
  'support',
  'gateway',
  'backoffice',
] as const

/** The name of a role. */
export type RoleName = (typeof ROLES)[number]

/** The roles that neither publish events nor subscribe to them, and so run without NATS. */
export const ROLES_WITHOUT_BUS: readonly RoleName[] = ['sandbox', 'backoffice']

/**
 * The purposes whose keys a role holds, and no other (O9). In production its process is given these alone: whoever takes over
 * `balances` or `sandbox` can open no secret.
 */
export const KEY_PURPOSES = {
  sandbox: [],
  merchants: ['credential', 'endpoint'],
  balances: ['journal'],
  notifier: ['endpoint', 'webhook', 'event_payments', 'event_support', 'receipt', 'person'],
  payments: ['event_payments', 'receipt', 'person', 'search'],
  attachments: ['link'],
  support: ['cursor', 'event_support', 'receipt', 'search'],
  gateway: ['credential', 'webhook', 'link'],
  backoffice: ['audit', 'cursor', 'session'],
} as const satisfies Readonly<Record<RoleName, readonly Purpose[]>>

/** The keys of a role. */
export type RoleKeys<R extends RoleName> = Keys<(typeof KEY_PURPOSES)[R][number]>

/** What a process provides to each role that it runs. */
export interface RoleContext<R extends RoleName = RoleName> {
  /** The process variables from which the role reads its own settings. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** A typed client of a service: in memory when this process runs its role, over gRPC otherwise. */
  clientOf<S extends DescService>(service: S): Client<S>
  /** A client of one specific process, by `host:port` of its gRPC port: for a role whose processes call each other. */
  clientAt?<S extends DescService>(address: string, service: S): Client<S>
  /** The streams of a role that runs in this process; `undefined` when another process runs it. */
  streamsOf?(role: RoleName): StreamHandler | undefined
  /** The TLS material for a role that opens a port for other processes; `undefined` means plain text. */
  readonly tls?: Tls | undefined
  /** The URLs that the roles before this one have opened in this process, by name. Their ports can change at each start. */
  readonly urls?: Readonly<Record<string, string>>
  readonly bus: Bus
  /** Opens the role's own database; the process closes it after the role has stopped. */
  openStore(): Promise<Store>
  readonly keys: RoleKeys<R>
  /** Whether the clock of this process agrees with the store's; measured from the first `openStore` on. */
  readonly clock_guard: ClockGuard
  /** Aborts when the process is asked to stop. Requests are still taken, but every response ends its connection (R5). */
  readonly draining: AbortSignal
  /**
   * Aborts after the drain time, when the process must stop. Long waits end then and their callers are answered at once
   * (P5, R5).
   */
  readonly stopping: AbortSignal
}

/** A role that has started: its RPCs can be called, but its ports are not open yet. */
export interface RunningRole {
  /** The RPC servers of the role. The RPCs of `multihub.X` are implemented in `services/X/rpc`. */
  readonly services: readonly RpcService[]
  /** Answers streams, which are too large for RPCs. Roles of this process call it in memory. */
  readonly handleStream?: StreamHandler
  /**
   * Opens the role's own ports. The process calls it when the RPCs of this role and of the roles before it can be called.
   * Returns the URLs for the `ready` line, by name.
   */
  open?(): Promise<Readonly<Record<string, string>>>
  /**
   * Set where the role answers also without its database and whatever its clock says. Their failure is then a limitation and
   * does not make the process unready: it must not be taken out of service for what all of its kind share.
   */
  readonly answers_without_store?: true
  /** Called once when other processes can call the RPCs of this one. */
  onServing?(): Promise<void>
  /** Throws when the role cannot do its work now. The readiness check calls it at most once per second. */
  check?(): Promise<void>
  /** What the role cannot do now although it is ready, in a few words each, such as one part of its data. */
  limitations?(): readonly string[]
  /** Takes no new work, finishes the work in progress, and releases its leases and connections. */
  stop(): Promise<void>
}

/** One role. `start` builds everything that it needs, once, from top to bottom. */
export interface Role<R extends RoleName = RoleName> {
  readonly name: R
  /** The settings that it reads. The process checks the settings of all its roles before it starts any of them. */
  readonly settings: ConfigSchema
  start(context: RoleContext<R>): Promise<RunningRole>
}
