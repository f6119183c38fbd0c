/** Kinds of the console's view Objects. */
import { describe, expect, it } from 'vitest'
import { kindNamed, kindsOf, listedKinds } from '../../../console/page/views/objects/kinds/kinds.ts'
import { sectionsOf } from '../../../console/page/views/objects/kinds/sections.ts'

const resource = (plural: string, kind: string, verbs = ['list', 'watch']) => ({
  resource: plural,
  responseKind: { kind },
  scope: 'Namespaced',
  verbs,
})

const lists = [
  {
    items: [
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            resources: [
              resource('configmaps', 'ConfigMap'),
              { ...resource('pods', 'Pod'), shortNames: ['po'] },
              resource('bindings', 'Binding', ['create']),
            ],
          },
        ],
      },
    ],
  },
  {
    items: [
      {
        metadata: { name: 'autoscaling' },
        versions: [
          { version: 'v2', resources: [resource('horizontalpodautoscalers', 'HPA')] },
          { version: 'v1', resources: [resource('horizontalpodautoscalers', 'HPA')] },
        ],
      },
      {
        metadata: { name: 'shop.example.com' },
        versions: [{ version: 'v1', resources: [resource('orders', 'Order')] }],
      },
      {
        metadata: { name: 'gateway.networking.k8s.io' },
        versions: [{ version: 'v1', resources: [resource('gateways', 'Gateway')] }],
      },
    ],
  },
]

describe('kinds of discovery', () => {
  it('lists each kind once, in its preferred version, and only what can be listed', () => {
    const listed = listedKinds(kindsOf(lists))
    expect(listed.map(({ plural, version }) => `${plural} ${version}`)).toEqual([
      'configmaps v1',
      'pods v1',
      'horizontalpodautoscalers v2',
      'orders v1',
      'gateways v1',
    ])
  })

  it('finds the kind that an owner reference names, in another version if that is served', () => {
    const kinds = kindsOf(lists)
    const wanted = { group: 'autoscaling', version: 'v2beta1', kind: 'HPA' }
    expect(kindNamed(kinds, wanted)?.version).toBe('v2')
    expect(kindNamed(kinds, { ...wanted, group: 'apps' })).toBeUndefined()
  })
})

describe('sections of kinds', () => {
  const kinds = listedKinds(kindsOf(lists))
  const titles = (search: string, custom?: ReadonlySet<string>) =>
    sectionsOf(kinds, { search, custom }).map(
      ({ title, kinds: some }) => `${title}: ${some.map(({ kind }) => kind).join(' ')}`,
    )

  it('begins with favourites, and knows custom kinds by their definitions', () => {
    const custom = new Set(['orders.shop.example.com', 'gateways.gateway.networking.k8s.io'])
    expect(titles('', custom)).toEqual([
      'Workloads: Pod',
      'Config: ConfigMap',
      'Custom: Gateway Order',
      'autoscaling: HPA',
    ])
  })

  it('tells custom kinds by their groups for a viewer who may not list definitions', () => {
    expect(titles('')).toContain('Custom: Order')
    expect(titles('')).toContain('gateway.networking.k8s.io: Gateway')
  })

  it('finds kinds by kind, plural, group and short name', () => {
    expect(titles('po')).toEqual(['Workloads: Pod', 'autoscaling: HPA'])
    expect(titles('SHOP')).toEqual(['Custom: Order'])
    expect(titles('nothing')).toEqual([])
  })
})
