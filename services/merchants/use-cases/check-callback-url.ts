import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkUrl } from '../domain/endpoint.ts'
import type { MerchantsDeps } from './deps.ts'

/** Accepts the URL of an endpoint by its text and by the present addresses of its host (N9); anything else is 9000. */
export async function checkCallbackUrl(
  {
    callbackAddressPolicy,
    acceptsCallbackHost,
  }: Pick<MerchantsDeps, 'callbackAddressPolicy' | 'acceptsCallbackHost'>,
  text: string,
  environment: Environment,
): Promise<string> {
  const url = checkUrl(text, { environment, allow: callbackAddressPolicy(environment) })
  if (await acceptsCallbackHost(url, environment)) return url
  throw fieldError(9000, 'url', 'a host with public addresses only')
}
