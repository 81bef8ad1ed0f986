import type { DescService } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import type { Bus } from '#lib/platform/bus/port.ts'
import type { Schema } from '#lib/platform/config/config.ts'
import type { Keyring } from '#lib/platform/crypto/seal.ts'
import type { RpcService } from '#lib/platform/rpc/service.ts'
import type { Store } from '#lib/platform/store/port.ts'

/** The roles that a process can play. `all` is every one of them in one process. */
export const ROLES = ['sandbox', 'merchants', 'balances', 'notifier', 'payments', 'gateway'] as const

/** The name of a role. */
export type RoleName = (typeof ROLES)[number]

/** What a process gives to each role that it plays. */
export interface RoleContext {
  /** The variables that the role's own configuration is read from. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** A typed client of a service, in memory when its role is in this process and over gRPC otherwise. */
  client<S extends DescService>(service: S): Client<S>
  /** The same of one certain process, by the `host:port` of its gRPC: for a role whose processes call each other. */
  clientAt?<S extends DescService>(address: string, service: S): Client<S>
  readonly bus: Bus
  /** Opens the role's own database; the process closes it after the role has stopped. */
  openStore(): Promise<Store>
  readonly keyring: Keyring
  /** Aborted when the process is told to stop: whoever waits for something long answers at once (P5, R5). */
  readonly stopping: AbortSignal
}

/** A role that has started: its RPCs can be called, its ports are not open yet. */
export interface RunningRole {
  readonly services: readonly RpcService[]
  /**
   * Opens the role's own ports, once its RPCs and those of the roles before it can be called. Answers the URLs for the
   * ready line, by name.
   */
  open?(): Promise<Readonly<Record<string, string>>>
  /** Throws when the role cannot do its work now; asked by readiness at most once a second. */
  check?(): Promise<void>
  /** Takes no new work, finishes what is under way, gives back what it holds. */
  stop(): Promise<void>
}

/** One role: everything it needs is built once, from top to bottom, in `start`. */
export interface Role {
  readonly name: RoleName
  /** What it reads from the environment, so that all that is wrong there is found before anything starts. */
  readonly settings: Schema
  start(context: RoleContext): Promise<RunningRole>
}
