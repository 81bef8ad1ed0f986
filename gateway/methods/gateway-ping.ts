import { described, ignored, notApplicable, object } from '../json/schema.ts'
import { METHOD } from './fields.ts'
import { defineMethod, type Method } from './method.ts'

const REQUEST = object({
  method: METHOD,
  // Ignored means not looked at: what E5 says of any text is about those that are taken.
  service_id: described('Ignored.', ignored()),
  operation_id: notApplicable(),
  params: object({}),
})

/** `gateway.ping`: shows a merchant that its signature is right. It calls nobody. */
export function gatewayPing(): Method {
  return defineMethod({ name: 'gateway.ping', schema: REQUEST, handle: () => ({ message: 'pong' }) })
}
