/** Names of custom kinds: which a definition may have, given those of others (upstream: pkg/controller/status/naming_controller.go). */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from '../../api/generated/types.ts'

export type Condition = Pick<
  CustomResourceDefinitionCondition,
  'type' | 'status' | 'reason' | 'message'
>

export interface Naming {
  readonly names: CustomResourceDefinitionNames
  /** NamesAccepted. */
  readonly condition: Condition
}

interface TakenNames {
  readonly resources: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

function takenIn(group: string, all: readonly CustomResourceDefinition[]): TakenNames {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const { spec, status } of all) {
    const names = status?.acceptedNames
    if (spec.group !== group || names === undefined) continue
    for (const name of [names.plural, names.singular ?? '', ...(names.shortNames ?? [])]) {
      if (name !== '') resources.add(name)
    }
    for (const name of [names.kind, names.listKind ?? '']) if (name !== '') kinds.add(name)
  }
  return { resources, kinds }
}

function conflictOf(wanted: string, accepted: string, taken: ReadonlySet<string>): string[] {
  return wanted === accepted || !taken.has(wanted) ? [] : [`"${wanted}" is already in use`]
}

/** The names that the definition gets: of those it asks for, the ones that no other definition of its group has. */
export function acceptNames(
  definition: CustomResourceDefinition,
  all: readonly CustomResourceDefinition[],
): Naming {
  const { spec, status } = definition
  const wanted = spec.names
  const held: CustomResourceDefinitionNames = status?.acceptedNames ?? { plural: '', kind: '' }
  const taken = takenIn(spec.group, all)
  const names = { ...held }
  let condition: Condition = {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  }
  const settle = (reason: string, conflicts: readonly string[], accept: () => void): void => {
    if (conflicts.length === 0) {
      accept()
      return
    }
    const message = conflicts.length === 1 ? conflicts.join('') : `[${conflicts.join(', ')}]`
    condition = { ...condition, status: 'False', reason, message }
  }
  const { resources, kinds } = taken
  settle('PluralConflict', conflictOf(wanted.plural, held.plural, resources), () => {
    names.plural = wanted.plural
  })
  const singular = wanted.singular ?? ''
  settle('SingularConflict', conflictOf(singular, held.singular ?? '', resources), () => {
    names.singular = singular
  })
  const own = held.shortNames ?? []
  const shortNames = wanted.shortNames ?? []
  const others = shortNames.filter((name) => !own.includes(name))
  settle(
    'ShortNamesConflict',
    others.flatMap((name) => conflictOf(name, '', resources)),
    () => {
      if (shortNames.length > 0) names.shortNames = shortNames
      else delete names.shortNames
    },
  )
  settle('KindConflict', conflictOf(wanted.kind, held.kind, kinds), () => {
    names.kind = wanted.kind
  })
  const listKind = wanted.listKind ?? ''
  settle('ListKindConflict', conflictOf(listKind, held.listKind ?? '', kinds), () => {
    names.listKind = listKind
  })
  if (wanted.categories !== undefined && wanted.categories.length > 0) {
    names.categories = wanted.categories
  } else delete names.categories
  return { names, condition }
}
