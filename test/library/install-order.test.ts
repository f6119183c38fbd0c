/** Install order: kinds that others need come first, kinds that judge requests last, in both dialects. */
import { expect, it } from 'vitest'
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import { installRank } from '../../library/install-order.ts'

const dialectNames = ['kubernetes', 'svc'] as const

it.each(dialectNames)('orders kinds in dialect %s', (name) => {
  const dialect = dialects[name]
  const object = (stem: string, kind: string) => ({
    apiVersion: stem === '' ? 'v1' : `${apiGroup(dialect, stem)}/v1`,
    kind,
  })
  const ordered = [
    object('', 'Namespace'),
    object('apiextensions', 'CustomResourceDefinition'),
    object('', 'ServiceAccount'),
    object('rbac.authorization', 'RoleBinding'),
    object('scheduling', 'PriorityClass'),
    object('', 'ResourceQuota'),
    object('', 'ConfigMap'),
    object('apps', 'Deployment'),
    object('admissionregistration', 'ValidatingWebhookConfiguration'),
  ]
  const rank = installRank(dialect)
  expect(ordered.toReversed().toSorted((a, b) => rank(a) - rank(b))).toEqual(ordered)
  expect(rank(object('apiregistration', 'APIService'))).toBe(rank(ordered.at(-1) ?? {}))
  expect(rank({ apiVersion: 'example.com/v1', kind: 'Namespace' })).toBe(
    rank(object('apps', 'Deployment')),
  )
})
