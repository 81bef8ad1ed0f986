import { ERROR_TABLE, type ErrorCode, isErrorCode, type Retry } from '#lib/contract/errors/error-table.ts'
import { codesByStatus } from '../../gateway/openapi/envelope-schemas.ts'
import { ERROR_ADVICE } from '../../gateway/openapi/error-advice.ts'

const RETRY_WORDS: Readonly<Record<Retry, string>> = {
  no: 'no',
  yes: 'yes, unchanged',
  depends: 'it depends',
  next_day: 'on the next day in UTC',
  while_scanning: 'while the file is scanned',
}

/** The error table for merchants, in the order of the codes. */
export function errorTable(): string {
  const by_status = [...codesByStatus()]
  const statusesOf = (code: ErrorCode): string => {
    const others = by_status.filter(
      ([http, codes]) => codes.includes(code) && http !== ERROR_TABLE[code].http,
    )
    return [ERROR_TABLE[code].http, ...others.map(([http]) => http)].join(' or ')
  }
  const codes = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)
  const lines = codes.map((code) => {
    const { message, retry } = ERROR_TABLE[code]
    return `| ${code} | ${message} | ${statusesOf(code)} | ${RETRY_WORDS[retry]} | ${ERROR_ADVICE[code]} |`
  })
  return ['| Code | Meaning | HTTP | Try again? | What to do |', '|---|---|---|---|---|', ...lines].join('\n')
}
