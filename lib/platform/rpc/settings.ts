import { z } from 'zod'
import { type Config, described, type Field, field, optional } from '#lib/platform/config/config.ts'
import { port, secret, text } from '#lib/platform/config/fields.ts'
import type { CallerCertificate, CallerToken } from './authenticate.ts'
import { CALLERS, type CallerName } from './service.ts'

const ENTRIES_MAX = 100

/** What a process must know to serve RPCs and to call others; `main` reads it beside the roles' own settings. */
export const RPC_SETTINGS = {
  host: described('The address that all ports of the process bind to.', text('MULTIHUB_HOST', '127.0.0.1')),
  grpc_port: described('Where RPCs are served by gRPC.', port('MULTIHUB_GRPC_PORT', 9090)),
  connect_port: described(
    'Where RPCs are served as JSON, with health and metrics.',
    port('MULTIHUB_CONNECT_PORT', 9091),
  ),
  token: described(
    'What this process proves itself with when it calls another.',
    optional(secret('MULTIHUB_RPC_TOKEN')),
  ),
  callers: described(
    'Who may call. A name may come twice while its token is replaced.',
    pairs<CallerToken>(
      'MULTIHUB_RPC_CALLERS',
      'name:sha256 pairs (the name of a caller, the SHA-256 of its token as 64 hexadecimal digits)',
      /^([a-z]+):([0-9a-f]{64})$/,
      (name, sha256) => ({ name, sha256 }),
    ),
  ),
  certificates: described(
    'Who may call by client certificate.',
    pairs<CallerCertificate>(
      'MULTIHUB_RPC_CERTIFICATES',
      'name:identity pairs (the name of a caller, a DNS name, URI or common name of its certificate)',
      /^([a-z]+):([\x21-\x7e]{1,255})$/,
      (name, identity) => ({ name, identity }),
    ),
  ),
  tls_key: described(
    'The file of the private key for TLS between processes.',
    optional(text('MULTIHUB_TLS_KEY')),
  ),
  tls_certificate: described('The file of its certificate.', optional(text('MULTIHUB_TLS_CERTIFICATE'))),
  tls_authority: described(
    'The file of the authority for certificates of processes; with it, gRPC callers must show one.',
    optional(text('MULTIHUB_TLS_CA')),
  ),
  merchants_address: address('MULTIHUB_MERCHANTS_ADDRESS', 'merchants'),
  balances_address: address('MULTIHUB_BALANCES_ADDRESS', 'balances'),
  payments_address: address('MULTIHUB_PAYMENTS_ADDRESS', 'payments'),
  support_address: address('MULTIHUB_SUPPORT_ADDRESS', 'support'),
  attachments_address: address('MULTIHUB_ATTACHMENTS_ADDRESS', 'attachments'),
  notifier_address: address('MULTIHUB_NOTIFIER_ADDRESS', 'notifier'),
} as const

/** The settings of a process's RPC as read. */
export type RpcConfig = Config<typeof RPC_SETTINGS>

/** Where a role that is not in this process answers: a name or an address, and a port; IPv6 stands in brackets. */
function address(variable: string, role: string): Field<string | undefined> {
  const schema = z.string().regex(/^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/)
  const required = field(variable, 'an address such as payments:9090', schema)
  return described(`Where the ${role} role answers gRPC, when it is in another process.`, optional(required))
}

function pairs<T>(
  variable: string,
  expected: string,
  form: RegExp,
  make: (name: CallerName, value: string) => T,
): Field<readonly T[]> {
  const schema = z.string().transform((text, { addIssue }) => {
    const parts = text.split(',').map((part) => part.trim())
    const read = parts.flatMap((part) => {
      const [, word, value] = form.exec(part) ?? []
      const name = CALLERS.find((caller) => caller === word)
      return name === undefined || value === undefined ? [] : [make(name, value)]
    })
    if (read.length === parts.length && read.length <= ENTRIES_MAX) return read
    addIssue('not the pairs expected')
    return z.NEVER
  })
  return field<readonly T[]>(variable, `up to ${ENTRIES_MAX} ${expected}`, schema, {
    value: [],
    text: 'none',
  })
}

/** Where each role that is not in this process answers. */
export function addressesOf(config: RpcConfig): ReadonlyMap<string, string> {
  const addresses = Object.entries(config).flatMap(([name, value]) =>
    name.endsWith('_address') && typeof value === 'string'
      ? [[name.slice(0, -'_address'.length), value] as const]
      : [],
  )
  return new Map(addresses)
}
