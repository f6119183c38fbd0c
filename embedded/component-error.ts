/** ComponentError: a component of an embedded cluster has ended by itself; what the cluster does without it is not to be relied on. */
export class ComponentError extends Error {
  constructor(faults: readonly string[]) {
    const next =
      'see cluster.logs(), and start again with cluster.reset(), or a node with its start()'
    super(`${faults.join('; ')}: ${next}`)
    this.name = 'ComponentError'
  }
}
