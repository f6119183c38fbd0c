import { expect, it } from 'vitest'
import { describeTarget, targetOf } from '../../../explore/gate/target.ts'

const described = (method: string, path: string, body?: unknown): string | undefined => {
  const target = targetOf(method, new URL(path, 'https://127.0.0.1'), body)
  return target && describeTarget(target)
}

it.each([
  ['GET', '/api/v1/pods', undefined, 'list pods'],
  ['GET', '/api/v1/namespaces/shop/pods?watch=true', undefined, 'watch pods shop'],
  ['GET', '/api/v1/pods?watch=True', undefined, 'watch pods'],
  ['GET', '/api/v1/namespaces/shop', undefined, 'get namespaces shop'],
  ['PUT', '/api/v1/namespaces/shop/finalize', undefined, 'update namespaces/finalize shop'],
  [
    'PATCH',
    '/apis/apps/v1/namespaces/shop/deployments/web/status',
    undefined,
    'patch deployments.apps/status shop/web',
  ],
  [
    'POST',
    '/api/v1/namespaces/shop/secrets',
    { metadata: { name: 'web' } },
    'create secrets shop/web',
  ],
  [
    'POST',
    '/api/v1/namespaces/shop/secrets',
    { metadata: { generateName: 'web-' } },
    'create secrets shop/web-*',
  ],
  ['DELETE', '/api/v1/namespaces/shop/pods', undefined, 'deletecollection pods shop'],
])('%s %s is named as RBAC would', (method, path, body, text) => {
  expect(described(method, path, body)).toBe(text)
})

it('discovery is of no resource', () => {
  expect(described('GET', '/apis/apps/v1')).toBe(undefined)
  expect(described('GET', '/version')).toBe(undefined)
})
