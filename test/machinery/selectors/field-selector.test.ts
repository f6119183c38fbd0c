import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { objectKindOf } from '../../../components/api/object-kind.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { selectableFieldValue } from '../../../components/api/selectable-fields.ts'
import {
  checkFieldSelector,
  escapeFieldValue,
  exactFieldMatch,
  fieldReviewRequirements,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
} from '../../../components/machinery/selectors/field-selector.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

const resources = resourcesOf(dialects.kubernetes)

describe('field selector', () => {
  it('selects by equality and inequality of every named field', () => {
    const fields: Record<string, string> = { 'metadata.name': 'a', 'status.phase': 'Running' }
    const matches = (text: string) =>
      matchesFields(parseFieldSelector(text), (field) => fields[field] ?? '')
    expect(matches('metadata.name=a')).toBe(true)
    expect(matches('metadata.name==a,status.phase!=Pending')).toBe(true)
    expect(matches('metadata.name=a,status.phase!=Running')).toBe(false)
    expect(matches('spec.nodeName=')).toBe(true)
    expect(matches('')).toBe(true)
    expect(matches(',,')).toBe(true)
  })

  it('reads escaped values back as they were', () => {
    const value = 'a,b=c\\d'
    const selector = parseFieldSelector(`metadata.name=${escapeFieldValue(value)}`)
    expect(exactFieldMatch(selector, 'metadata.name')).toBe(value)
    expect(parseFieldSelector(formatFieldSelector(selector))).toEqual(selector)
  })

  it.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=b\\c', 'invalid field selector: invalid escape sequence: \\c'],
  ])("'%s' is refused with upstream's message", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(message)
  })

  it('refuses fields that a resource cannot be selected by', () => {
    const check = (text: string, resource: (typeof resources)['pods']) =>
      checkFieldSelector(parseFieldSelector(text), resource, objectKindOf(resource).fieldSelectors)
    expect(() => check('data.a=1', resources.configMaps)).toThrow(
      '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )
    expect(() => check('spec.x=1', resources.pods)).toThrow('field label not supported: spec.x')
    expect(() => check('metadata.namespace=x', resources.nodes)).toThrow(
      'field label not supported: metadata.namespace',
    )
    expect(check('metadata.namespace=x', resources.pods)).toHaveLength(1)
  })

  it("takes the old name of a pod's node", () => {
    const { fieldSelectors } = objectKindOf(resources.pods)
    const asked = parseFieldSelector('spec.host=n1')
    const selector = checkFieldSelector(asked, resources.pods, fieldSelectors)
    expect(exactFieldMatch(selector, 'spec.nodeName')).toBe('n1')
  })

  it('gives access reviews operators of the object form', () => {
    expect(fieldReviewRequirements(parseFieldSelector('a=b,c!=d'))).toEqual([
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'c', operator: 'NotIn', values: ['d'] },
    ])
  })
})

describe('values of selectable fields', () => {
  const valueOf = (key: 'pods' | 'nodes' | 'events' | 'jobs' | 'replicaSets', object: object) => {
    const whole: KubeObject = { metadata: { name: 'x', namespace: 'n' }, ...object }
    return (field: string) => selectableFieldValue(resources[key], whole, field)
  }

  it('are the text at the path, and empty where there is none', () => {
    const pod = valueOf('pods', { spec: { nodeName: 'n1' }, status: { phase: 'Running' } })
    expect(pod('spec.nodeName')).toBe('n1')
    expect(pod('status.phase')).toBe('Running')
    expect(pod('status.nominatedNodeName')).toBe('')
    expect(pod('metadata.name')).toBe('x')
    expect(pod('metadata.namespace')).toBe('n')
  })

  it('have the defaults of booleans and counts', () => {
    expect(valueOf('pods', {})('spec.hostNetwork')).toBe('false')
    expect(valueOf('nodes', {})('spec.unschedulable')).toBe('false')
    expect(valueOf('nodes', { spec: { unschedulable: true } })('spec.unschedulable')).toBe('true')
    expect(valueOf('jobs', { status: { succeeded: 2 } })('status.successful')).toBe('2')
    expect(valueOf('replicaSets', {})('status.replicas')).toBe('0')
  })

  it("fall back to the reporting component for an event's source", () => {
    expect(valueOf('events', { source: { component: 'a' } })('source')).toBe('a')
    expect(valueOf('events', { source: {}, reportingComponent: 'b' })('source')).toBe('b')
  })
})
