/** One decision of Node and RBAC by itself, in this process: too little for a difference between two loads to show. */
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createLocalModules } from '../../components/api-server/authz/authorization-modes.ts'
import { authorizeInOrder } from '../../components/api-server/authz/union.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { FakeReader } from '../../test/support/fake-reader.ts'
import { plainRow, type Row } from './rows.ts'

const decisions = 500_000

/** `policy` are objects by their keys in the store, `user` one whom they let get pods. */
export function measureDecisions(
  policy: readonly (readonly [key: string, object: KubeObject])[],
  of: { readonly name: string; readonly user: string; readonly groups: readonly string[] },
): Row {
  const dialect = dialects.kubernetes
  const { all } = resourcesOf(dialect)
  const reader = new FakeReader()
  for (const [, object] of policy) {
    const resource = all.find(({ kind }) => kind === object.kind)
    if (resource !== undefined) reader.put(resource, object)
  }
  const local = createLocalModules({ reader, dialect })
  const authorizer = authorizeInOrder([local.of('Node'), local.of('RBAC')])
  const decide = (): unknown =>
    authorizer.authorize({
      user: { name: of.user, groups: of.groups },
      verb: 'get',
      isResourceRequest: true,
      group: '',
      version: 'v1',
      resource: 'pods',
      subresource: '',
      namespace: 'default',
      name: 'one',
      path: '',
    })
  for (let at = 0; at < decisions / 5; at += 1) decide()
  const before = process.cpuUsage()
  for (let at = 0; at < decisions; at += 1) decide()
  const { user, system } = process.cpuUsage(before)
  local.stop()
  return plainRow(of.name, `${((user + system) / decisions).toFixed(2)} µs`)
}
