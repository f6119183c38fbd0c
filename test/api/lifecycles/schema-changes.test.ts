/** Rule 1: nothing inside a version goes or changes. Snapshots of earlier releases are in test/cases/schemas. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { apiServerFlags } from '../../../components/api-server/configuration/options.ts'
import {
  presentShapes,
  schemaFaults,
  type FieldShape,
  type Shapes,
} from '../../../components/api/lifecycles/schema-changes.ts'
import { controllerManagerFlags } from '../../../components/controller-manager/options.ts'
import { nodeAgentFlags } from '../../../components/node-agent/options.ts'
import { schedulerFlags } from '../../../components/scheduler/options.ts'
import type { FlagDeclarations } from '../../../components/component-base/flags.ts'

/** `name:type!|value|value=default`, one field each, after the struct's name; tabs between them. */
function readShapes(file: string): Map<string, Map<string, FieldShape>> {
  const text = readFileSync(join(import.meta.dirname, '../../cases/schemas', file), 'utf8')
  return new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [struct = '', ...fields] = line.split('\t')
        return [
          struct,
          new Map(
            fields.map((field): [string, FieldShape] => {
              const [, name = '', rest = ''] = /^([^:]+):(.*)$/.exec(field) ?? []
              const [, type = '', required, values, fallback] =
                /^([^!|=]+)(!)?((?:\|[^|=]*)*)(?:=(.*))?$/.exec(rest) ?? []
              return [
                name,
                {
                  type,
                  ...(required === undefined ? {} : { required: true }),
                  ...(values ? { values: values.slice(1).split('|') } : {}),
                  ...(fallback === undefined ? {} : { default: fallback }),
                },
              ]
            }),
          ),
        ] as const
      }),
  )
}

const shapes = (structs: Record<string, Record<string, FieldShape>>): Shapes =>
  new Map(Object.entries(structs).map(([name, fields]) => [name, new Map(Object.entries(fields))]))

const before = shapes({
  'batch/v1.Widget': {
    size: { type: 'number', default: '1' },
    color: { type: 'string', values: ['red', 'green'] },
    note: { type: 'string' },
  },
})
const check = (fields: Record<string, FieldShape>, name = 'batch/v1.Widget') =>
  schemaFaults(before, shapes({ [name]: fields, 'batch/v1.Other': {} })).map(
    ({ message }) => message,
  )
const same = Object.fromEntries(before.get('batch/v1.Widget') ?? [])

describe('rule 1 of the deprecation rules', () => {
  it('lets fields and values be added, and whole versions and alpha versions go', () => {
    expect(check({ ...same, more: { type: 'string' } })).toEqual([])
    expect(check({ ...same, color: { type: 'string', values: ['red', 'green', 'blue'] } })).toEqual(
      [],
    )
    expect(schemaFaults(before, shapes({ 'batch/v2.Widget': {} }))).toEqual([])
    const alpha = shapes({ 'batch/v1alpha1.Widget': same })
    expect(schemaFaults(alpha, shapes({ 'batch/v1alpha1.Widget': {} }))).toEqual([])
  })

  it('names what was removed or changed', () => {
    const { note: _, ...rest } = same
    expect(check(rest)).toEqual(['batch/v1.Widget.note breaks rule 1: it was removed'])
    expect(check(same, 'batch/v1.Gadget')).toEqual([
      'batch/v1.Widget breaks rule 1: it was removed',
    ])
    expect(check({ ...same, note: { type: '[string]' } })).toEqual([
      'batch/v1.Widget.note breaks rule 1: its type string became [string]',
    ])
    expect(check({ ...same, note: { type: 'string', required: true } })).toEqual([
      'batch/v1.Widget.note breaks rule 1: it became required',
    ])
    expect(check({ ...same, size: { type: 'number', default: '2' } })).toEqual([
      'batch/v1.Widget.size breaks rule 1: its default 1 became 2',
    ])
    expect(check({ ...same, color: { type: 'string', values: ['red'] } })).toEqual([
      'batch/v1.Widget.color breaks rule 1: the values green were removed',
    ])
  })

  it('[VER-024] no element of release 1.30 is missing in the versions of it that are there', () => {
    const present = presentShapes()
    const earlier = readShapes('release-1.30.txt')
    expect(earlier.size).toBeGreaterThan(500)
    // That release's snapshot has names and types alone.
    for (const [struct, fields] of earlier) {
      for (const [name, { type }] of fields) {
        fields.set(name, { ...present.get(struct)?.get(name), type })
      }
    }
    // An alpha field, behind a gate that was off: 1.31 gave its two members to its holder.
    expect(schemaFaults(earlier, present).map(({ entry }) => entry)).toEqual([
      'core/v1.PodResourceClaim.source',
    ])
  })

  it('[VER-025] nothing of this release is removed or changed inside a version', () => {
    const snapshot = readShapes('release-1.32.txt')
    expect(snapshot.size).toBeGreaterThan(700)
    const fields = [...snapshot.values()].flatMap((struct) => [...struct.values()])
    expect(fields.filter((field) => field.default !== undefined).length).toBeGreaterThan(10)
    expect(fields.filter(({ required }) => required).length).toBeGreaterThan(300)
    expect(schemaFaults(snapshot, presentShapes())).toEqual([])
  })

  it('[VER-035] no value of an enumeration and no field of a component’s configuration is removed', () => {
    const snapshot = readShapes('release-1.32.txt')
    const enumerated = [...snapshot].flatMap(([, struct]) =>
      [...struct].filter(([, { values }]) => values !== undefined),
    )
    expect(enumerated.length).toBeGreaterThan(100)
    expect(schemaFaults(snapshot, presentShapes())).toEqual([])

    const components: Record<string, FlagDeclarations> = {
      'api-server': apiServerFlags,
      'controller-manager': controllerManagerFlags,
      'node-agent': nodeAgentFlags,
      scheduler: schedulerFlags,
    }
    const present = shapes(
      Object.fromEntries(
        Object.entries(components).map(([component, flags]) => [
          `configuration/v1.${component}`,
          Object.fromEntries(
            Object.entries(flags).map(([name, { type, choices }]) => [
              name,
              { type, ...(choices === undefined ? {} : { values: choices }) },
            ]),
          ),
        ]),
      ),
    )
    const configuration = readShapes('configuration-1.32.txt')
    expect(configuration.size).toBe(4)
    expect(schemaFaults(configuration, present)).toEqual([])
  })
})
