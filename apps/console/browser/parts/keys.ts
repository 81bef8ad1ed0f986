import { useEffect, useRef } from 'react'
import { nowMs } from '../call/machine.ts'

/** What keys do while a part of the page is shown: one key, such as `/`, or two in a row, such as `g p`. */
export type Keys = Readonly<Record<string, () => void>>

/** The second key of two follows the first within this time. */
const SEQUENCE_MS = 1_500

const active: { readonly keys: Keys }[] = []
let first = { key: '', at_ms: 0 }

function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
  const { key } = event
  const is_second = first.key !== '' && nowMs() - first.at_ms < SEQUENCE_MS
  const found = (is_second && find(`${first.key} ${key}`)) || find(key)
  first = { key, at_ms: nowMs() }
  if (!found) return
  event.preventDefault()
  first = { key: '', at_ms: 0 }
  found()
}

/** What was shown last comes first. */
function find(name: string): (() => void) | undefined {
  return active.findLast(({ keys }) => keys[name] !== undefined)?.keys[name]
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
}

/** Lets keys act while the calling component is shown, except where a person types or a dialog is open. */
export function useKeys(keys: Keys): void {
  const holder = useRef({ keys })
  holder.current.keys = keys
  useEffect(() => {
    const mine = holder.current
    if (active.length === 0) document.addEventListener('keydown', onKeyDown)
    active.push(mine)
    return () => {
      active.splice(active.indexOf(mine), 1)
      if (active.length === 0) document.removeEventListener('keydown', onKeyDown)
    }
  }, [])
}
