import type { CallResult } from '../domain/call-result.ts'
import type { CreateResult } from './connector.ts'

/** What a create proves, without the HTTP status of its response. */
export async function provenBy(created: Promise<CreateResult>): Promise<CallResult> {
  const { http_status: _http_status, ...result } = await created
  return result
}
