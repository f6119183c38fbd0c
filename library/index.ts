/** What `import ... from 'kube-skiff'` gives. */
export { ConnectionError } from '../components/client/connection-error.ts'
export { StatusError } from '../components/machinery/objects/status-error.ts'
export { UnknownKindError } from '../scenarios/engine/find-resource.ts'
export { ExpectationError } from './expect.ts'
export { ManifestError } from './manifest-error.ts'
export { OptionError } from './option-shapes.ts'
export { startCluster } from './start-cluster.ts'
export type * from './types.ts'
