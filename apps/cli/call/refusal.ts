import { type DescField, fromBinary } from '@bufbuild/protobuf'
import { type ErrorDetail, ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { OWN_NAME } from '../output/own-name.ts'
import { CommandError } from '../terminal.ts'
import type { RpcError } from './connect-protocol.ts'

/** The header of every answer that says the release of the server. */
export const RELEASE_HEADER = 'multihub-release'

/** The refusals that mean that there is no server, or none that can work now. */
const UNREACHABLE: ReadonlySet<string> = new Set(['unavailable', 'deadline_exceeded', 'unknown'])

/** The address of a call, and the fields of its request. */
export interface CallContext {
  readonly url: string
  readonly fields: readonly DescField[]
  /** The field that an argument of the command fills, so that it has no flag. */
  readonly argument?: string | undefined
  /** The release that an earlier answer of the server has named. */
  readonly release: string | undefined
}

/** The sentences of a refusal: its code, message and field, the request id, and what to do. Never a stack. */
export function toCommandError(error: RpcError, called: CallContext): CommandError {
  const { url } = called
  const release = error.headers.get(RELEASE_HEADER) ?? called.release
  const detail = detailOf(error)
  const details = detailsOf(detail?.detailsJson)
  const request_id = error.headers.get('x-request-id')
  const hints = [hintOf(error, details, called), ...releaseHints(error, called.fields, release)]
  const parts = new Set([error.message, ...detailTexts(details)])
  const sentence = [...parts].filter((part) => part !== '').join(': ')
  const text = [
    request_id === null ? sentence : `${sentence} (request ${request_id})`,
    ...hints.filter((hint) => hint !== ''),
  ].join('\n')
  if (UNREACHABLE.has(error.code))
    return new CommandError(3, release === undefined ? `no back office answers at ${url}: ${text}` : text, {
      cause: error,
    })
  const name = error.code.replaceAll('_', ' ')
  return new CommandError(1, `refused ${detail?.code ?? name}: ${text}`, {
    cause: error,
    ...(detail && { error_code: detail.code }),
  })
}

/** The error of the error table, when the refusal has one. */
function detailOf({ details }: RpcError): ErrorDetail | undefined {
  const part = details.find(({ type }) => type === ErrorDetailSchema.typeName)
  try {
    return part && fromBinary(ErrorDetailSchema, part.bytes)
  } catch {
    return undefined
  }
}

type Details = Readonly<Record<string, unknown>>

function detailsOf(json: string | undefined): Details {
  try {
    return JSON.parse(json || '{}')
  } catch {
    return {}
  }
}

/** The details as words: the field and the reason first, then everything else by its name. */
function detailTexts({ description, reason, ...more }: Details): readonly string[] {
  const others = Object.entries(more).map(
    ([name, value]) =>
      `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  return [description, reason, others.join(', ')].map((part) => (part === undefined ? '' : String(part)))
}

/** What to do about a refusal. */
function hintOf({ code }: RpcError, details: Details, called: CallContext): string {
  const { fields } = called
  const { approval_id, description, status, reason } = details
  // A decision that is refused says why; a call that waits for a decision does not.
  if (
    typeof approval_id === 'string' &&
    [undefined, 'pending'].includes(status as string) &&
    reason === undefined
  )
    return `a second person decides: ${OWN_NAME} approvals approve ${approval_id} --reason "..."`
  const field = fields.find(({ name }) => name === description)
  if (field !== undefined && code === 'invalid_argument' && field.name !== called.argument)
    return `the flag of this field is --${field.name.replaceAll('_', '-')}`
  switch (code) {
    case 'unauthenticated':
      return `run "${OWN_NAME} login", or give --token`
    case 'permission_denied':
      return `"${OWN_NAME} whoami" shows your rights`
    case 'not_found':
      return `"${OWN_NAME} search ID" finds what an identifier names`
    case 'resource_exhausted':
      return 'wait a minute, then try again'
    default:
      return ''
  }
}

/** Names both releases when another release can be the cause: an RPC or a field that one of both does not know. */
function releaseHints(
  { code, message }: RpcError,
  fields: CallContext['fields'],
  release: string | undefined,
): readonly string[] {
  const { version } = readBuildInfo()
  const is_unknown_rpc = code === 'unimplemented'
  const is_unknown_field = message.includes('unknown field')
  if (!is_unknown_rpc && !is_unknown_field && code !== 'invalid_argument') return []
  if (release === undefined)
    return is_unknown_rpc ? ['is this the address of a back office? it does not say its release'] : []
  const order = compareReleases(release, version)
  if (order === 0) return []
  const both = `the server has release ${release}, this command ${version}`
  if (order > 0)
    return [`${both}: install the command of release ${release}, this one may not know what it needs`]
  if (!is_unknown_rpc && !is_unknown_field) return []
  const other = `use the command of release ${release}`
  if (is_unknown_rpc) return [`${both}: the server has no such command yet; ${other}`]
  // A binary request has numbers for names.
  const [, number] = /unknown field: (\d+)$/.exec(message) ?? []
  const field = fields.find((one) => String(one.number) === number)
  const flag = field === undefined ? 'the flag' : `--${field.name.replaceAll('_', '-')}`
  return [`${both}: the server does not know this field yet; ${other}, or leave out ${flag}`]
}

/** Above 0 when the first release is newer. Releases are numbers with points; what follows them is not compared. */
function compareReleases(a: string, b: string): number {
  const [numbers_a = [], numbers_b = []] = [a, b].map((release) =>
    release
      .replace(/[^\d.].*$/, '')
      .split('.')
      .map(Number),
  )
  for (let n = 0; n < 3; n += 1) {
    const difference = (numbers_a[n] ?? 0) - (numbers_b[n] ?? 0)
    if (difference !== 0) return difference
  }
  return a === b ? 0 : a.localeCompare(b)
}
