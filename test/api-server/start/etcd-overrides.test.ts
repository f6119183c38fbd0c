import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { etcdOverridesOf } from '../../../components/api-server/start/etcd-overrides.ts'
import { silentLog } from '../../../components/component-base/log.ts'

const resources = resourcesOf(dialects.kubernetes).all

function overrides(...values: string[]): { of: Record<string, string[]>; warnings: string[] } {
  const warnings: string[] = []
  const log = { ...silentLog, warn: (text: string) => void warnings.push(text) }
  const found = etcdOverridesOf(values, { resources, log })
  const of = found.map(({ servers, storagePrefixes }) => [servers.join(), [...storagePrefixes]])
  return { of: Object.fromEntries(of) as Record<string, string[]>, warnings }
}

describe('--etcd-servers-overrides', () => {
  it('gives resources to the servers after the hash', () => {
    expect(overrides('/events#http://a:1;http://b:1', 'apps/deployments#http://c:1')).toEqual({
      of: { 'http://a:1,http://b:1': ['core/events'], 'http://c:1': ['apps/deployments'] },
      warnings: [],
    })
  })

  it('takes the same servers in another order for the same etcd', () => {
    const { of } = overrides('/events#http://a:1;http://b:1', '/pods#http://b:1;http://a:1')
    expect(of).toEqual({ 'http://a:1,http://b:1': ['core/events', 'core/pods'] })
  })

  it('takes the last override of a resource, and the resource before its whole group', () => {
    expect(overrides('/events#http://a:1', '/events#http://b:1').of).toEqual({
      'http://b:1': ['core/events'],
    })
    const { of } = overrides('apps/deployments#http://a:1', 'apps/*#http://b:1')
    expect(of['http://a:1']).toEqual(['apps/deployments'])
    expect(of['http://b:1']).toContain('apps/statefulsets')
    expect(of['http://b:1']).not.toContain('apps/deployments')
  })

  it.each([
    'events.k8s.io/events',
    'apiextensions.k8s.io/customresourcedefinitions',
    'apiregistration.k8s.io/apiservices',
    'example.com/widgets',
    'events/',
  ])('leaves %s where it is, and says so', (name) => {
    expect(overrides(`${name}#http://a:1`)).toEqual({
      of: {},
      warnings: [`--etcd-servers-overrides: no built-in resource is stored as ${name}`],
    })
  })

  it.each([
    '/events/http://127.0.0.1:4002',
    'events#http://a:1',
    '/events',
    '/events#',
    '/events#http://a:1;',
    '/events#http://a:1#x',
    'a/b/c#http://a:1',
  ])("rejects %s in upstream's words", (value) => {
    expect(() => overrides(value)).toThrow(
      '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
    )
  })
})
