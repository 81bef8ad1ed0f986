import { CALLBACK_PORTS_REFUSED, CALLBACK_URL_LENGTH_MAX, PRIVATE_SUFFIXES } from '#lib/http/callback-url.ts'
import { BODY_MAX_BYTES, HTTP_LIMITS } from '../../gateway/http/http-limits.ts'
import { DEPTH_MAX, VALUES_MAX } from '../../gateway/json/parse-json.ts'
import { DEFAULT_QUOTAS } from '../../gateway/methods/public-methods.ts'

/** The rows of a table of a page. The first row has the names of the columns. */
export type Table = readonly (readonly unknown[])[]

/** A table in Markdown. */
export function tableText(table: Table): string {
  const [columns = [], ...rows] = table.map((cells) => `| ${cells.join(' | ')} |`)
  return [columns, `|${'---|'.repeat(table[0]?.length ?? 0)}`, ...rows].join('\n')
}

const NUMBER = new Intl.NumberFormat('en-US')
const KIB = 1024
const MIB = 1024 * KIB

/** The default quota of each bucket. */
export function quotaTable(): Table {
  const rows = [...DEFAULT_QUOTAS].map(([name, quota]) => [`\`${name}\``, NUMBER.format(quota)])
  return [['Bucket', 'Calls per minute'], ...rows]
}

/** The greatest sizes of requests as a whole. The reference has the limits of each field. */
export function sizeTable(): Table {
  const { head_max_bytes, headers_max, body_fragments_base, bytes_per_fragment } = HTTP_LIMITS
  return [
    ['What', 'At most'],
    ['head of a request', `${head_max_bytes / KIB} KiB, ${headers_max} headers`],
    [
      'body of a request',
      `${BODY_MAX_BYTES / MIB} MiB, nested ${DEPTH_MAX} deep, ${NUMBER.format(VALUES_MAX)} values`,
    ],
    [
      'fragments of a body (TCP segments or chunks)',
      `${body_fragments_base}, and one more for each ${bytes_per_fragment} bytes`,
    ],
  ]
}

/** The limits of connections and of requests in progress in one gateway process. */
export function connectionTable(): Table {
  const rows: readonly (readonly [what: string, count: number])[] = [
    ['open connections from one network', HTTP_LIMITS.network_connections_max],
    [
      'of these, connections without a correctly signed request yet',
      HTTP_LIMITS.network_unauthenticated_connections_max,
    ],
    ['open connections of all clients', HTTP_LIMITS.connections_max],
    [
      'of these, connections without a correctly signed request yet',
      HTTP_LIMITS.unauthenticated_connections_max,
    ],
    ['requests on one connection that wait for their responses', HTTP_LIMITS.pending_responses_max],
    ['requests in progress of one merchant and environment', HTTP_LIMITS.merchant_requests_max],
    ['of these, only for `payment.status` and `balance.get`', HTTP_LIMITS.merchant_requests_for_reads],
    ['requests in progress of all merchants', HTTP_LIMITS.requests_max],
  ]
  return [['What', 'At most'], ...rows.map(([what, count]) => [what, NUMBER.format(count)])]
}

/** How long the parts of an exchange over HTTP may take. */
export function timeTable(): Table {
  const short_body = `${HTTP_LIMITS.short_body_bytes / KIB} KiB`
  const rows: readonly (readonly [what: string, time_ms: number, more?: string])[] = [
    ['the head of a request has to arrive', HTTP_LIMITS.head_timeout_ms],
    [
      `a body up to ${short_body}, or the first ${short_body} of a longer one, has to arrive`,
      HTTP_LIMITS.short_body_timeout_ms,
      ' after the head',
    ],
    ['a whole request has to arrive', HTTP_LIMITS.request_timeout_ms],
    ['the upload or download of a file may take', HTTP_LIMITS.upload_timeout_ms],
    ['an unused connection stays open', HTTP_LIMITS.idle_timeout_ms],
    [
      'a connection on which nothing is transferred stays open',
      HTTP_LIMITS.inactivity_timeout_ms,
      ', also while a response is awaited',
    ],
  ]
  const lines = rows.map(([what, time_ms, more = '']) => [what, `${time_ms / 1000} seconds${more}`])
  return [['What', 'How long'], ...lines]
}

/** The rules for a `webhook_url` and for the URL of an endpoint (N9). */
export function callbackUrlTable(): Table {
  const ports = [...CALLBACK_PORTS_REFUSED].join(', ')
  const suffixes = PRIVATE_SUFFIXES.map((suffix) => `\`.${suffix}\``).join(', ')
  return [
    ['Part', 'Rule'],
    ['scheme', '`https`; in the test environment also `http`'],
    [
      'host name',
      `at least two labels of letters, digits, hyphens and underscores, without a dot at the end; international names in punycode (\`xn--\`); not under ${suffixes}`,
    ],
    ['IP address', 'a public one, in its usual spelling'],
    ['port', `none, 80, 443, or from 1024 except ${ports}`],
    [
      'path and query',
      'visible ASCII without backslashes; percent-encode all other characters, but no control characters',
    ],
    ['user info, fragment', 'not permitted'],
    ['length', `at most ${NUMBER.format(CALLBACK_URL_LENGTH_MAX)} characters`],
  ]
}
