/** KindList: every kind, searchable, with a link to its list. */
import { useState } from 'preact/hooks'
import { listPlace, type KindPlace } from '../../../app/object-place.ts'
import { linkTo } from '../../../app/router.ts'
import { listedKinds, qualifiedName } from './kinds.ts'
import { sectionsOf } from './sections.ts'
import type { KnownKinds } from './use-kinds.ts'

export interface KindListProps extends KnownKinds {
  readonly current: KindPlace | undefined
  /** Stays when the kind changes. */
  readonly namespace: string
}

export function KindList({ kinds, custom, fault, current, namespace }: KindListProps) {
  const [search, setSearch] = useState('')
  const listed = listedKinds(kinds ?? [])
  const sections = sectionsOf(listed, { search, custom })
  const here = current === undefined ? '' : qualifiedName(current)
  return (
    <nav class="kinds" aria-label="Kinds">
      <input
        type="search"
        placeholder={`Find one of ${listed.length} kinds`}
        aria-label="Find a kind"
        value={search}
        onInput={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      <a class="button" href={linkTo(['objects', 'new'], { namespace })}>
        New from YAML
      </a>
      {fault !== undefined && <p class="fault">The kinds cannot be read: {fault}</p>}
      {sections.map((section) => (
        <section key={section.title}>
          <h2>{section.title}</h2>
          <ul>
            {section.kinds.map((kind) => (
              <li key={qualifiedName(kind)}>
                <a
                  href={linkTo(listPlace(kind), { namespace })}
                  aria-current={qualifiedName(kind) === here ? 'page' : undefined}
                  title={qualifiedName(kind)}
                >
                  {kind.kind}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {kinds !== undefined && sections.length === 0 && (
        <p class="empty">No kind matches “{search}”.</p>
      )}
    </nav>
  )
}
