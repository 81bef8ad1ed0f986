import { z } from 'zod'
import { type Config, type Field, field, optional } from '#lib/config/config.ts'
import { port, secret, text } from '#lib/config/fields.ts'
import type { CallerCertificate, CallerToken } from './authenticate.ts'
import { CALLERS, type CallerName } from './service.ts'

const ENTRIES_MAX = 100

/** What a process must know to serve RPCs and to call others; `main` reads it beside the roles' own settings. */
export const RPC_SETTINGS = {
  /** The address that all ports of the process bind to (R2). */
  host: text('MULTIHUB_HOST', '127.0.0.1'),
  grpc_port: port('MULTIHUB_GRPC_PORT', 9090),
  connect_port: port('MULTIHUB_CONNECT_PORT', 9091),
  /** What this process proves itself with when it calls another. */
  token: optional(secret('MULTIHUB_RPC_TOKEN')),
  /** Who may call: names with the SHA-256 of their tokens. A name may come twice while its token is replaced. */
  callers: pairs<CallerToken>(
    'MULTIHUB_RPC_CALLERS',
    'name:sha256 pairs (the name of a caller, the SHA-256 of its token as 64 hexadecimal digits)',
    /^([a-z]+):([0-9a-f]{64})$/,
    (name, sha256) => ({ name, sha256 }),
  ),
  /** Who may call by client certificate: names with a DNS name, URI or common name of their certificates. */
  certificates: pairs<CallerCertificate>(
    'MULTIHUB_RPC_CERTIFICATES',
    'name:identity pairs (the name of a caller, a DNS name, URI or common name of its certificate)',
    /^([a-z]+):([\x21-\x7e]{1,255})$/,
    (name, identity) => ({ name, identity }),
  ),
  tls_key: optional(text('MULTIHUB_TLS_KEY')),
  tls_certificate: optional(text('MULTIHUB_TLS_CERTIFICATE')),
  tls_authority: optional(text('MULTIHUB_TLS_CA')),
  merchants_address: optional(address('MULTIHUB_MERCHANTS_ADDRESS')),
  balances_address: optional(address('MULTIHUB_BALANCES_ADDRESS')),
  payments_address: optional(address('MULTIHUB_PAYMENTS_ADDRESS')),
  support_address: optional(address('MULTIHUB_SUPPORT_ADDRESS')),
  attachments_address: optional(address('MULTIHUB_ATTACHMENTS_ADDRESS')),
  notifier_address: optional(address('MULTIHUB_NOTIFIER_ADDRESS')),
} as const

/** The settings of a process's RPC as read. */
export type RpcConfig = Config<typeof RPC_SETTINGS>

/** Where a role that is not in this process answers: a name or an address, and a port; IPv6 stands in brackets. */
function address(variable: string): Field<string> {
  const schema = z.string().regex(/^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/)
  return field(variable, 'an address such as payments:9090', schema)
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
