import { z } from 'zod'
import {
  type Config,
  describedSetting,
  optionalSetting,
  type Setting,
  setting,
} from '#lib/base/config/config.ts'
import { HOST_SETTING, portSetting, secretSetting, textSetting } from '#lib/base/config/settings.ts'
import type { CallerCertificate, CallerToken } from './credentials.ts'
import { CALLERS, type CallerName } from './service.ts'

/** The largest message, over every transport. It applies in memory too, so that splitting a process breaks no call. */
export const MESSAGE_MAX_BYTES = 4 * 1024 * 1024

/** The metadata by which the back office tells an owner which act of the audit trail a call is (O4). */
export const AUDIT_HEADER = 'x-multihub-audit'

/** The default time that a client waits for a response. */
export const CALL_TIMEOUT_MS = 10_000

/** The longest time that a server works on one call, whatever deadline the caller set. */
export const CALL_TIMEOUT_MAX_MS = 120_000

/** The most calls in progress in one process. Further calls are refused with 2002 at once. */
export const CALLS_MAX = 10_000

/** The most calls on one connection. Calls that wait long for a provider must not block others on it. */
export const STREAMS_MAX = CALLS_MAX

/** The most open connections to one port of a process. Further ones are closed at once. */
export const CONNECTIONS_MAX = 5000

const ENTRIES_MAX = 100

/** The RPC settings of a process. */
export const RPC_SETTINGS = {
  host: HOST_SETTING,
  grpc_port: describedSetting('The port of gRPC.', portSetting('MULTIHUB_GRPC_PORT', 9090)),
  connect_port: describedSetting(
    'The port of the Connect and gRPC-Web protocols (JSON).',
    portSetting('MULTIHUB_CONNECT_PORT', 9091),
  ),
  token: describedSetting(
    'The bearer token with which this process calls other processes.',
    optionalSetting(secretSetting('MULTIHUB_RPC_TOKEN')),
  ),
  callers: describedSetting(
    'The callers with a bearer token. A name may occur twice while its token is replaced.',
    pairs<CallerToken>(
      'MULTIHUB_RPC_CALLERS',
      'name:sha256 pairs (the name of a caller, the SHA-256 of its token as 64 hexadecimal digits)',
      /^([a-z]+):([0-9a-f]{64})$/,
      (name, sha256) => ({ name, sha256 }),
    ),
  ),
  certificates: describedSetting(
    'The callers with a client certificate.',
    pairs<CallerCertificate>(
      'MULTIHUB_RPC_CERTIFICATES',
      'name:identity pairs (the name of a caller, a DNS name, URI or common name of its certificate)',
      /^([a-z]+):([\x21-\x7e]{1,255})$/,
      (name, identity) => ({ name, identity }),
    ),
  ),
  tls_key: describedSetting(
    'The PEM file of the private key for TLS between processes.',
    optionalSetting(textSetting('MULTIHUB_TLS_KEY')),
  ),
  tls_certificate: describedSetting(
    'The PEM file of the certificate for that key.',
    optionalSetting(textSetting('MULTIHUB_TLS_CERTIFICATE')),
  ),
  tls_ca: describedSetting(
    'The PEM file of the certificate authority of the processes. With it, gRPC callers must have a certificate.',
    optionalSetting(textSetting('MULTIHUB_TLS_CA')),
  ),
  merchants_address: address('MULTIHUB_MERCHANTS_ADDRESS', 'merchants'),
  balances_address: address('MULTIHUB_BALANCES_ADDRESS', 'balances'),
  payments_address: address('MULTIHUB_PAYMENTS_ADDRESS', 'payments'),
  notifier_address: address('MULTIHUB_NOTIFIER_ADDRESS', 'notifier'),
  attachments_address: address('MULTIHUB_ATTACHMENTS_ADDRESS', 'attachments'),
  support_address: address('MULTIHUB_SUPPORT_ADDRESS', 'support'),
  gateway_address: address('MULTIHUB_GATEWAY_ADDRESS', 'gateway'),
} as const

/** The values of the RPC settings. */
export type RpcConfig = Config<typeof RPC_SETTINGS>

/** The address of a role in another process: host and port, with IPv6 addresses in brackets. */
function address(variable: string, role: string): Setting<string | undefined> {
  const schema = z.string().regex(/^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/)
  const required = setting(variable, 'an address such as payments:9090', schema)
  return describedSetting(
    `The gRPC address of the ${role} role, when another process runs it.`,
    optionalSetting(required),
  )
}

function pairs<T>(
  variable: string,
  expected: string,
  form: RegExp,
  make: (name: CallerName, value: string) => T,
): Setting<readonly T[]> {
  const schema = z.string().transform((text, { addIssue }) => {
    const parts = text.split(',').map((part) => part.trim())
    const read = parts.flatMap((part) => {
      const [, word, value] = form.exec(part) ?? []
      const name = CALLERS.find((caller) => caller === word)
      return name === undefined || value === undefined ? [] : [make(name, value)]
    })
    if (read.length === parts.length && read.length <= ENTRIES_MAX) return read
    addIssue('not the expected pairs')
    return z.NEVER
  })
  return setting<readonly T[]>(variable, `up to ${ENTRIES_MAX} ${expected}`, schema, {
    value: [],
    text: 'none',
  })
}

/** The configured addresses, by role. */
export function addressesOf(config: RpcConfig): ReadonlyMap<string, string> {
  const addresses = Object.entries(config).flatMap(([name, value]) =>
    name.endsWith('_address') && typeof value === 'string'
      ? [[name.slice(0, -'_address'.length), value] as const]
      : [],
  )
  return new Map(addresses)
}
