/** `--authorization-mode`: from names to authorizers. */
import { nodeRules } from '../../api/bootstrap-policy/policy-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { ObjectReader } from '../object-reader.ts'
import { alwaysAllow, alwaysDeny } from './always.ts'
import type { Authorizer } from './authorizer.ts'
import { nodeAuthorizer } from './node-authorizer.ts'
import { NodeGraph } from './node-graph.ts'
import { RbacIndex } from './rbac-index.ts'
import { rbacAuthorizer } from './rbac.ts'
import { authorizeInOrder } from './union.ts'

export const authorizationModes = ['Node', 'RBAC', 'AlwaysAllow', 'AlwaysDeny'] as const

export type AuthorizationMode = (typeof authorizationModes)[number]

/** Reads `Node,RBAC`. Throws an Error that names what is wrong and what is known. */
export function parseAuthorizationModes(text: string): AuthorizationMode[] {
  const names = text.split(',').map((name) => name.trim())
  const modes = names.map((name) => {
    const known = authorizationModes.find((mode) => mode === name)
    if (known === undefined) {
      throw new Error(
        `authorization-mode "${name}" is not a valid mode; known are ${authorizationModes.join(', ')}`,
      )
    }
    return known
  })
  const repeated = modes.find((mode, index) => modes.indexOf(mode) !== index)
  if (repeated !== undefined) {
    throw new Error(`authorization-mode "${repeated}" is specified more than once`)
  }
  return modes
}

export interface Authorization {
  /** All modes as one, in order. */
  readonly authorizer: Authorizer
  /** Kept whatever the modes, since writing roles and bindings is checked against it. */
  readonly rbacIndex: RbacIndex
  stop(): void
}

/** Builds the modes in their order. They follow the reader until `stop`. */
export function createAuthorization(
  modes: readonly AuthorizationMode[],
  options: { reader: ObjectReader; dialect: Dialect; authorizeNodeWithSelectors?: boolean },
): Authorization {
  const { reader, dialect, authorizeNodeWithSelectors = true } = options
  const rbacIndex = new RbacIndex(reader, dialect)
  const stops = [() => rbacIndex.stop()]
  const modules = modes.map((mode) => {
    switch (mode) {
      case 'RBAC':
        return rbacAuthorizer(rbacIndex)
      case 'AlwaysAllow':
        return alwaysAllow
      case 'AlwaysDeny':
        return alwaysDeny
      case 'Node': {
        const graph = new NodeGraph(reader, dialect)
        stops.push(() => graph.stop())
        return nodeAuthorizer({
          graph,
          reader,
          dialect,
          rules: nodeRules(dialect),
          withSelectors: authorizeNodeWithSelectors,
        })
      }
    }
  })
  return {
    authorizer: authorizeInOrder(modules),
    rbacIndex,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
