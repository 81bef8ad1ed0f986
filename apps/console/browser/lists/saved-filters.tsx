import { type FormEvent, type ReactNode, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { readStored, store, useStored } from '../parts/stored.ts'
import { PageLink, Text } from '../parts/text.tsx'

/** Filters with a name: an address of this list, which only this browser keeps. */
interface SavedFilters {
  readonly name: string
  readonly q: string
}

const NONE: readonly SavedFilters[] = []
const SAVED_MAX = 30
const NAME_MAX = 40

const keyOf = (path: string): string => `filters:${path}`

/** The saved filters of a list as links, each with a button that forgets it. */
export function SavedFilterLinks({ path, q }: { readonly path: string; readonly q: string }): ReactNode {
  const saved = useStored(keyOf(path), NONE)
  return (
    <ul className="saved" aria-label="Saved filters">
      {saved.map((one) => (
        <li key={one.name} aria-current={one.q === q || undefined}>
          <PageLink to={{ path, search: { q: one.q } }}>
            <Text>{one.name}</Text>
          </PageLink>
          <button
            type="button"
            className="copy"
            aria-label={`Forget the filters ${one.name}`}
            title="Forget"
            onClick={() => forget(path, one.name)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}

function forget(path: string, name: string): void {
  store(
    keyOf(path),
    readStored(keyOf(path), NONE).filter((one) => one.name !== name),
  )
}

/** The button that keeps the present filters under a name. The same name replaces older filters. */
export function SaveFilters({ path, q }: { readonly path: string; readonly q: string }): ReactNode {
  const [is_open, setOpen] = useState(false)
  const saved = useStored(keyOf(path), NONE)
  if (q === '' || saved.some((one) => one.q === q)) return null
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name')).trim()
    const others = readStored(keyOf(path), NONE).filter((one) => one.name !== name)
    store(keyOf(path), [...others, { name, q }].slice(-SAVED_MAX))
    setOpen(false)
  }
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Save filters
      </button>
      {is_open && (
        <Dialog title="Save filters" onClose={() => setOpen(false)}>
          <form onSubmit={submit}>
            <p>
              <code>{q}</code>
            </p>
            <label htmlFor="filters-name">Name</label>
            <input
              id="filters-name"
              name="name"
              required
              maxLength={NAME_MAX}
              pattern=".*\S.*"
              autoComplete="off"
            />
            <p className="quiet">This browser keeps them. Others get them by the address of this page.</p>
            <div className="acts">
              <button type="submit" className="main">
                Save
              </button>
              <button type="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
