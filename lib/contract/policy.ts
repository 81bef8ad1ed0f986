/** The restrictions of a credential to routes and currencies (E9). An empty list permits all. */
export interface Policy {
  readonly service_ids: readonly string[]
  readonly currencies: readonly string[]
}

/** Whether a restriction permits a value. An empty restriction permits every value. */
export function permits(restriction: readonly string[], value: string): boolean {
  return restriction.length === 0 || restriction.includes(value)
}

/** Whether a policy permits a route and its currency (E9). Otherwise the request is refused with 3008. */
export function permitsRoute(policy: Policy, service_id: string, currency: string): boolean {
  return permits(policy.service_ids, service_id) && permits(policy.currencies, currency)
}
