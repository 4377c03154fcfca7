// Starting and killing processes takes longer than most tests.
export default { test: { testTimeout: 60_000, hookTimeout: 60_000 } };
