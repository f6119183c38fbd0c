import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  deepDifferenceOf,
  differenceOf,
  emptySet,
  FieldSetBuilder,
  hasPath,
  intersectionOf,
  membersOf,
  partOf,
  readFieldSet,
  setOf,
  unionOf,
  unionOfAll,
  type FieldSet,
} from '../../../components/machinery/apply/field-set.ts'
import { compareElements, showPath } from '../../../components/machinery/apply/field-elements.ts'

const element = fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"z"', 'i:2')
const path = fc.array(element, { minLength: 1, maxLength: 3 })
const paths = fc.array(path, { maxLength: 8 })

/** Every member, as text. */
function members(set: FieldSet, prefix: readonly string[] = []): string[] {
  return Object.entries(set).flatMap(([key, child]) => {
    if (key === '.') return []
    const here = [...prefix, key]
    const isMember = child['.'] !== undefined || Object.keys(child).length === 0
    return [...(isMember ? [here.join(' ')] : []), ...members(child, here)]
  })
}

const texts = (list: readonly (readonly string[])[]): Set<string> =>
  new Set(list.map((one) => one.join(' ')))

describe('field sets', () => {
  it('unite all at once as they do two at a time', () => {
    fc.assert(
      fc.property(fc.array(paths, { maxLength: 5 }), (all) => {
        const sets = all.map((one) => setOf(...one))
        const inTurn = sets.reduce(unionOf, emptySet)
        expect(JSON.stringify(unionOfAll(sets))).toBe(JSON.stringify(inTurn))
      }),
    )
  })

  it('read an element that comes in several spellings as one', () => {
    const set = readFieldSet({
      'v:1': { 'f:a': {} },
      'v: 1': { 'f:b': {} },
      'v:1 ': { '.': {}, 'f:c': {} },
    })
    expect(set).toEqual({ 'v:1': { '.': {}, 'f:a': {}, 'f:b': {}, 'f:c': {} } })
  })

  it('are sets of paths, whatever is done to them', () => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const [left, right] = [setOf(...a), setOf(...b)]
        const [inA, inB] = [texts(a), texts(b)]
        expect(new Set(members(left))).toEqual(inA)
        expect(new Set(members(unionOf(left, right)))).toEqual(inA.union(inB))
        expect(new Set(members(differenceOf(left, right)))).toEqual(inA.difference(inB))
        expect(new Set(members(intersectionOf(left, right)))).toEqual(inA.intersection(inB))
        const outside = [...inA].filter(
          (text) => ![...inB].some((other) => `${text} `.startsWith(`${other} `)),
        )
        expect(new Set(members(deepDifferenceOf(left, right)))).toEqual(new Set(outside))
        for (const one of [...a, ...b]) {
          expect(hasPath(left, one)).toBe(inA.has(one.join(' ')))
        }
      }),
    )
  })

  it('list their elements in order, the node itself first, however they were made', () => {
    const isOrdered = (set: FieldSet): boolean => {
      const keys = Object.keys(set).filter((key) => key !== '.')
      return (
        !('.' in set && Object.keys(set)[0] !== '.') &&
        keys.every((key, at) => at === 0 || compareElements(keys[at - 1] ?? '', key) < 0) &&
        Object.values(set).every(isOrdered)
      )
    }
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const builder = new FieldSetBuilder()
        for (const one of b) builder.insert(one, one.length)
        expect(isOrdered(unionOf(setOf(...a), builder.set))).toBe(true)
        expect(isOrdered(unionOf(emptySet, builder.set))).toBe(true)
        expect(isOrdered(differenceOf(setOf(...a), builder.set))).toBe(true)
      }),
    )
  })

  it('stay the same value when nothing changes, so that nobody writes them again', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const set = setOf(...list)
        expect(differenceOf(set, emptySet)).toBe(set)
        expect(deepDifferenceOf(set, emptySet)).toBe(set)
        if (list.length > 0) expect(unionOf(set, setOf(...list))).toBe(set)
      }),
    )
  })

  it('elements come as fields, keyed elements, set elements and indices, each by value', () => {
    const inOrder = [
      'f:a',
      'f:b',
      'k:{"containerPort":80,"protocol":"TCP"}',
      'k:{"containerPort":80,"protocol":"UDP"}',
      'k:{"containerPort":443,"protocol":"TCP"}',
      'k:{"name":"a"}',
      'v:2',
      'v:10',
      'v:"a"',
      'v:true',
      'i:2',
      'i:10',
    ]
    expect(inOrder.toReversed().sort(compareElements)).toEqual(inOrder)
  })

  it('tell what lies at or below a pattern', () => {
    const set = setOf(
      ['f:spec', 'f:c', 'k:{"name":"a"}', 'f:resources', 'f:cpu'],
      ['f:spec', 'f:c', 'k:{"name":"a"}', 'f:image'],
      ['f:spec', 'f:x'],
      ['f:status'],
    )
    expect(members(partOf(set, [['f:spec', 'f:c', '*', 'f:resources']]))).toEqual([
      'f:spec f:c k:{"name":"a"} f:resources f:cpu',
    ])
    expect(members(partOf(set, [['f:status'], ['f:spec', 'f:x']]))).toEqual([
      'f:spec f:x',
      'f:status',
    ])
  })

  it('name their members as messages do, those of a node before what lies below', () => {
    const set = setOf(
      ['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:name'],
      ['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}'],
      ['f:metadata', 'f:finalizers', 'v:"a/b"'],
      ['f:list', 'i:3'],
    )
    expect(membersOf(set).map(showPath)).toEqual([
      '.list[3]',
      '.metadata.finalizers[="a/b"]',
      '.spec.ports[port=80,protocol="TCP"]',
      '.spec.ports[port=80,protocol="TCP"].name',
    ])
  })

  it('are read from what clients send in any spelling, and refused when they are none', () => {
    const sent = {
      'f:spec': { 'k:{ "protocol": "TCP",\n"port": 80 }': {}, 'x:future': {}, '.': {} },
      'f:metadata': { 'v: "a"': {} },
    }
    expect(JSON.stringify(readFieldSet(sent))).toBe(
      JSON.stringify({
        'f:metadata': { 'v:"a"': {} },
        'f:spec': { '.': {}, 'k:{"port":80,"protocol":"TCP"}': {} },
      }),
    )
    expect(readFieldSet({ '.': {} })).toEqual({})
    for (const bad of [
      [],
      'x',
      1,
      { 'f:a': 1 },
      { 'k:x': {} },
      { 'k:[]': {} },
      { 'i:x': {} },
      { q: {} },
    ]) {
      expect(readFieldSet(bad), JSON.stringify(bad)).toBeUndefined()
    }
    let deep: object = {}
    for (let level = 0; level < 100_000; level += 1) deep = { 'f:a': deep }
    expect(readFieldSet(deep)).toBeUndefined()
  })
})
