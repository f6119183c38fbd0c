/** Applies and updates by several managers against a simple model of ownership: a flat map of fields, and who has them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { applyShapeOf } from '../../../components/machinery/apply/apply-shape.ts'
import {
  applyConfig,
  ownersAfterUpdate,
  type Versions,
} from '../../../components/machinery/apply/apply-updater.ts'
import { finished } from '../../../components/machinery/values/steps.ts'
import { setElement } from '../../../components/machinery/apply/field-elements.ts'
import { hasPath } from '../../../components/machinery/apply/field-set.ts'
import {
  entriesOf,
  ownerId,
  ownersOf,
  type Owners,
} from '../../../components/machinery/apply/managed-fields.ts'
import { deepEqual, deepFreeze } from '../../../components/machinery/objects/object.ts'

/**
 * Fields of a Deployment and how the model calls them. A container is there or not (`c1`), and its image is a field below
 * it: it goes when the container goes.
 */
const fields = {
  'label a': ['f:metadata', 'f:labels', 'f:a'],
  'label b': ['f:metadata', 'f:labels', 'f:b'],
  'finalizer x': ['f:metadata', 'f:finalizers', setElement('e/x')],
  'finalizer y': ['f:metadata', 'f:finalizers', setElement('e/y')],
  replicas: ['f:spec', 'f:replicas'],
  selector: ['f:spec', 'f:selector'],
  c1: ['f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"c1"}'],
  'c1 image': ['f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"c1"}', 'f:image'],
  c2: ['f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"c2"}'],
  'c2 image': ['f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"c2"}', 'f:image'],
} as const
type Field = keyof typeof fields
const names = Object.keys(fields) as Field[]

/** Values of fields; those that are only there or not have the value 1. */
type State = Partial<Record<Field, number>>

const isPresence = (field: Field): boolean => /^(finalizer .|c\d)$/.test(field)

const parentOf = (field: Field): Field | undefined =>
  field.endsWith(' image') ? (field.slice(0, 2) as Field) : undefined

/** The state as an object. Parts without fields are left out. */
function objectOf(state: State): Record<string, unknown> {
  const labels: Record<string, string> = {}
  for (const label of ['a', 'b'] as const) {
    const value = state[`label ${label}`]
    if (value !== undefined) labels[label] = String(value)
  }
  const finalizers = (['x', 'y'] as const)
    .filter((one) => state[`finalizer ${one}`] !== undefined)
    .map((one) => `e/${one}`)
  const containers = (['c1', 'c2'] as const)
    .filter((one) => state[one] !== undefined)
    .map((name) => {
      const image = state[`${name} image`]
      return { name, ...(image === undefined ? {} : { image: `i${image}` }) }
    })
  return {
    metadata: {
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(finalizers.length > 0 && { finalizers }),
    },
    spec: {
      ...(state.replicas !== undefined && { replicas: state.replicas }),
      ...(state.selector !== undefined && {
        selector: { matchLabels: { v: String(state.selector) } },
      }),
      ...(containers.length > 0 && { template: { spec: { containers } } }),
    },
  }
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null

/** The object's fields by name; what a merge leaves empty or null is nothing. */
function stateOf(object: unknown): State {
  // oxlint-disable-next-line typescript/no-explicit-any -- an object of any shape
  const { metadata, spec } = object as any
  const state: State = {}
  for (const label of ['a', 'b'] as const) {
    if (isThere(metadata?.labels?.[label])) state[`label ${label}`] = Number(metadata.labels[label])
  }
  for (const one of ['x', 'y'] as const) {
    if (metadata?.finalizers?.includes(`e/${one}`)) state[`finalizer ${one}`] = 1
  }
  if (isThere(spec?.replicas)) state.replicas = spec.replicas
  if (isThere(spec?.selector)) state.selector = Number(spec.selector.matchLabels.v)
  for (const { name, image } of spec?.template?.spec?.containers ?? []) {
    state[name as 'c1'] = 1
    if (isThere(image)) state[`${name as 'c1'} image`] = Number(image.slice(1))
  }
  return state
}

/** Owners by `operation manager`. */
type Ownership = Record<string, Set<Field>>

interface World {
  state: State
  owned: Ownership
}

function modelUpdate(world: World, manager: string, next: State): World {
  const changed = names.filter((field) => next[field] !== world.state[field])
  const owned: Ownership = {}
  for (const [owner, set] of Object.entries(world.owned)) {
    owned[owner] = set.difference(new Set(changed))
  }
  const taken = changed.filter((field) => next[field] !== undefined)
  owned[`Update ${manager}`] = (owned[`Update ${manager}`] ?? new Set()).union(new Set(taken))
  return { state: next, owned }
}

function modelApply(
  world: World,
  manager: string,
  { config, force }: { config: State; force: boolean },
): World | 'conflict' {
  const self = `Apply ${manager}`
  const stated = new Set(names.filter((field) => config[field] !== undefined))
  const others = Object.entries(world.owned).filter(([owner]) => owner !== self)
  const next: State = { ...world.state }
  for (const field of stated) next[field] = config[field] ?? 0
  const dropped = (world.owned[self] ?? new Set<Field>()).difference(stated)
  for (const field of dropped) {
    if (!others.some(([, set]) => set.has(field))) delete next[field]
  }
  for (const field of names) {
    const parent = parentOf(field)
    if (parent !== undefined && next[parent] === undefined) delete next[field]
  }
  const changed = names.filter((field) => next[field] !== world.state[field])
  const isTaken = changed.some(
    (field) => next[field] !== undefined && others.some(([, set]) => set.has(field)),
  )
  if (isTaken && !force) return 'conflict'
  const owned: Ownership = { [self]: stated }
  for (const [owner, set] of others) owned[owner] = set.difference(new Set(changed))
  return { state: next, owned }
}

function ownershipOf(owners: Owners): Ownership {
  const owned: Ownership = {}
  for (const { manager, operation, fields: set } of owners.values()) {
    const has = names.filter((field) => hasPath(set, fields[field]))
    const owner = `${operation} ${manager}`
    owned[owner] = (owned[owner] ?? new Set()).union(new Set(has))
  }
  return owned
}

const withoutEmpty = (owned: Ownership): Ownership =>
  Object.fromEntries(
    Object.entries(owned)
      .filter(([, set]) => set.size > 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

const state: fc.Arbitrary<State> = fc
  .record(
    Object.fromEntries(
      names.map((name) => [
        name,
        isPresence(name) ? fc.constant(1) : fc.integer({ min: 1, max: 2 }),
      ]),
    ),
    { requiredKeys: [] },
  )
  .map((value) => {
    const picked = value as State
    for (const name of names) {
      const parent = parentOf(name)
      if (parent !== undefined && picked[name] !== undefined) picked[parent] = 1
    }
    return picked
  })
const manager = fc.constantFrom('one', 'two', 'three')
const version = fc.constantFrom('apps/v1', 'apps/v1beta9')
const step = fc.oneof(
  fc.record({ do: fc.constant('apply' as const), manager, version, state, force: fc.boolean() }),
  fc.record({ do: fc.constant('update' as const), manager, version, state }),
)

const shape = applyShapeOf(schemaOf('apps/v1.Deployment'))

/** Two versions of the same form; what is owned as of one is compared in it. */
function versionsAt(apiVersion: string): Versions {
  return {
    apiVersion,
    shape,
    find: (name) => (name.startsWith('apps/') ? { apiVersion: name, shape } : undefined),
    // A conversion gives another object each time.
    *convert(object) {
      yield
      return structuredClone(object)
    },
    owned: (set) => set,
  }
}

function asker(operation: 'Apply' | 'Update', manager: string, apiVersion: string) {
  return { manager, operation, apiVersion, subresource: '', time: '2026-01-01T00:00:00Z' }
}

describe('ownership of fields', () => {
  it.each([
    ['one version', false],
    ['two versions', true],
  ])('is that of the model after any applies and updates by several managers, in %s', (_, both) => {
    let conflicts = 0
    let shared = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let world: World = { state: {}, owned: {} }
        let object: unknown = deepFreeze(objectOf({}))
        let owners: Owners = new Map()
        for (const one of steps) {
          const apiVersion = both ? one.version : 'apps/v1'
          const versions = versionsAt(apiVersion)
          if (one.do === 'update') {
            const changed = deepFreeze(objectOf(one.state))
            owners = finished(
              ownersAfterUpdate(
                { live: object, changed, owners },
                asker('Update', one.manager, apiVersion),
                versions,
              ),
            )
            object = changed
            world = modelUpdate(world, one.manager, one.state)
          } else {
            const { state: wanted, force } = one
            const before = { object, owners }
            const outcome = finished(
              applyConfig(
                { live: object, config: deepFreeze(objectOf(wanted)), owners },
                { asker: asker('Apply', one.manager, apiVersion), force },
                versions,
              ),
            )
            const expected = modelApply(world, one.manager, { config: wanted, force })
            expect(outcome.ok ? 'done' : 'conflict').toBe(
              expected === 'conflict' ? 'conflict' : 'done',
            )
            if (!outcome.ok || expected === 'conflict') {
              conflicts += 1
              expect({ object, owners }).toEqual(before)
              continue
            }
            expect(outcome.isSame).toBe(deepEqual(outcome.object, object))
            world = expected
            owners = outcome.owners
            // What is empty or null after a merge is decoded before it is stored.
            object = deepFreeze(objectOf(stateOf(outcome.object)))
          }
          const kept = ownersOf(JSON.parse(JSON.stringify(entriesOf(owners))))
          expect(kept).toEqual(new Map(owners))
          expect(stateOf(object)).toEqual(world.state)
          expect(withoutEmpty(ownershipOf(owners))).toEqual(withoutEmpty(world.owned))
          const sets = Object.values(world.owned)
          if (sets.some((a, at) => sets.some((b, i) => i > at && !a.isDisjointFrom(b)))) shared += 1
        }
      }),
      { numRuns: 600 },
    )
    expect(conflicts).toBeGreaterThan(100)
    expect(shared).toBeGreaterThan(100)
  })

  it('of a part of what is owned as of another version survives the applier of both', () => {
    const [v1, beta] = [versionsAt('apps/v1'), versionsAt('apps/v1beta9')]
    const [one, two] = [objectOf({ c1: 1, 'c1 image': 1 }), objectOf({ c1: 1, 'c1 image': 2 })]
    let owners = finished(
      ownersAfterUpdate(
        { live: objectOf({}), changed: one, owners: new Map() },
        asker('Update', 'one', 'apps/v1beta9'),
        beta,
      ),
    )
    const states = { live: one, changed: two, owners }
    owners = finished(ownersAfterUpdate(states, asker('Update', 'one', 'apps/v1'), v1))
    let object: unknown = two
    for (const config of [two, objectOf({})]) {
      const by = { asker: asker('Apply', 'one', 'apps/v1'), force: false }
      const outcome = finished(applyConfig({ live: object, config, owners }, by, v1))
      if (!outcome.ok) throw new Error('conflict')
      ;({ object, owners } = outcome)
    }
    expect(stateOf(object)).toEqual({ c1: 1, 'c1 image': 2 })
  })

  it('of versions that nobody serves any more is forgotten', () => {
    const gone = asker('Update', 'old', 'extensions/v1beta1')
    const owners = new Map([[ownerId(gone), { ...gone, fields: { 'f:spec': { 'f:paused': {} } } }]])
    const live = objectOf({ replicas: 1 })
    const changed = objectOf({ replicas: 2 })
    const after = finished(
      ownersAfterUpdate(
        { live, changed, owners },
        asker('Update', 'new', 'apps/v1'),
        versionsAt('apps/v1'),
      ),
    )
    expect(entriesOf(after).map(({ manager }) => manager)).toEqual(['new'])
  })
})
