import { readConfig } from '#lib/base/config/config.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ROLES, type RoleName } from '#lib/role/role.ts'
import { createRpc, type Rpc } from '#lib/rpc/rpc.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { differentFreePorts } from './free-port.ts'

/** Environment variables, by name. */
export type Variables = Readonly<Record<string, string>>

/** The settings of the processes of one system. */
export interface SystemSettings {
  /** What all processes share. */
  readonly shared: Variables
  /** The token of the operator, for the back office. */
  readonly operator_token: string
  tokenOf(caller: CallerName): string
  /** The settings of a process with one role, or with all. */
  variablesOf(role: RoleName | 'all'): Variables
  /** Clients in this process with the rights of a caller. Close them in the end. */
  connectAs(caller: CallerName): Promise<Rpc>
}

/** Where a system keeps its state, and how its processes find each other. */
export interface SystemPlan {
  readonly home: string
  readonly nats_url: string | undefined
  readonly mongodb_uri: string | undefined
  /** The host name of a role's RPCs; by default 127.0.0.1. */
  readonly hostOf?: (role: RoleName) => string
  /** Whether one process has all roles, and so one port for all RPCs. */
  readonly is_one_process?: boolean
}

/** Chooses free ports and new keys for a system, whose processes keep them when they start again. */
export async function createSystemSettings(plan: SystemPlan): Promise<SystemSettings> {
  const { home, nats_url, mongodb_uri, hostOf = () => '127.0.0.1', is_one_process = false } = plan
  const callers = ROLES.filter((name) => name !== 'sandbox')
  const operator_token = `mhp_${randomHex(32)}`
  const tokens = Object.fromEntries(callers.map((name) => [name, randomHex(32)]))
  const [http, sandbox, provider, attachments, ...grpc] = await differentFreePorts(4 + ROLES.length)
  const portOf = (role: RoleName | 'all'): string =>
    `${is_one_process || role === 'all' ? grpc[0] : grpc[ROLES.indexOf(role)]}`
  const addresses = ROLES.filter((role) => !['sandbox', 'backoffice'].includes(role)).map((role) => [
    `MULTIHUB_${role.toUpperCase()}_ADDRESS`,
    `${hostOf(role)}:${portOf(role)}`,
  ])
  const shared = {
    MULTIHUB_HOME: home,
    MULTIHUB_MASTER_KEYS: `test:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: randomHex(32),
    MULTIHUB_RPC_CALLERS: callers.map((name) => `${name}:${sha256Hex(tokens[name] ?? '')}`).join(','),
    MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8',
    MULTIHUB_SYSTEM_NAME: `e2e_${randomHex(4)}`,
    ...(nats_url ? { NATS_URL: nats_url } : {}),
    ...(mongodb_uri ? { MONGODB_URI: mongodb_uri } : {}),
    MULTIHUB_CONNECT_PORT: '0',
    MULTIHUB_HEALTH_PORT: '0',
    MULTIHUB_HTTP_PORT: `${http}`,
    MULTIHUB_BACKOFFICE_PORT: '0',
    MULTIHUB_BACKOFFICE_FIRST_TOKEN: sha256Hex(operator_token),
    MULTIHUB_SANDBOX_PORT: `${sandbox}`,
    MULTIHUB_PROVIDER_PORT: `${provider}`,
    MULTIHUB_ATTACHMENTS_PORT: `${attachments}`,
    MULTIHUB_ATTACHMENTS_URL: `http://${hostOf('attachments')}:${attachments}`,
    MULTIHUB_SANDBOX_URL: `http://127.0.0.1:${sandbox}`,
    ...Object.fromEntries(addresses),
  }
  const tokenOf = (caller: string): string => tokens[caller] ?? ''
  return {
    shared,
    operator_token,
    tokenOf,
    variablesOf: (role) => ({
      ...shared,
      MULTIHUB_GRPC_PORT: portOf(role),
      MULTIHUB_RPC_TOKEN: tokenOf(role),
    }),
    connectAs: (caller) =>
      createRpc(readConfig(RPC_SETTINGS, { ...shared, MULTIHUB_RPC_TOKEN: tokenOf(caller) })),
  }
}
