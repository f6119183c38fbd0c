/** What a new cluster needs besides what its components write: what nodes join with, and the default StorageClass. */
import type { Dialect } from '../../components/api/dialect.ts'
import { defaultStorage } from './default-storage.ts'
import { joinObjects, type PlacedObject } from './join-objects.ts'

/** `hasBase`: it began with a base image, which has all but the objects with the cluster's address. */
export function initialObjects(cluster: {
  readonly dialect: Dialect
  readonly server: string
  readonly authorityPem: string
  readonly hasBase: boolean
}): PlacedObject[] {
  const { dialect, server, hasBase } = cluster
  const objects = [...joinObjects(cluster), defaultStorage(dialect)]
  return objects.filter(({ object }) => !hasBase || JSON.stringify(object).includes(server))
}
