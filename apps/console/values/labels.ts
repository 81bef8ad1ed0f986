/** Names of fields that say more to a person than the names in the protos. */
const LABELS: Readonly<Record<string, string>> = {
  c_id: 'c_id',
  h_id: 'h_id',
  p_id: 'p_id',
  service_id: 'route',
  payment_c_id: 'payment c_id',
  payment_h_id: 'payment h_id',
  create_time: 'created',
  update_time: 'changed',
  finish_time: 'finished',
  erase_time: 'erased',
  expire_time: 'expires',
  decide_time: 'decided',
  deadline_time: 'deadline',
  sla_deadline_time: 'deadline',
  last_activity_time: 'last activity',
  rpc: 'call',
  attempts: 'tries',
  duration_ms: 'took, ms',
  secret_create_time: 'secret since',
}

/** The label of a field, such as `created` for `create_time`. */
export function labelOf(name: string): string {
  return LABELS[name] ?? name.replace(/_(id|time)$/, '').replaceAll('_', ' ')
}
