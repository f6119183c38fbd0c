/** Modules of the API server that are loaded when they are first needed. In a simulation nothing may wait for a disk. */
export async function loadLateModules(): Promise<void> {
  await Promise.all([
    import('../../cel/cel-constructed.ts'),
    import('../../cel/linear-pattern.ts'),
    import('../controllers/type-checking.ts'),
    import('../custom-resources/cel-rules.ts'),
    import('../explain/explain.ts'),
    import('../expressions/expression-faults.ts'),
    import('../expressions/mutation-expressions.ts'),
    import('../expressions/policy-expressions.ts'),
  ])
}
